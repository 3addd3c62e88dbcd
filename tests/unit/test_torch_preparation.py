"""How convolutions of an inference graph get channels last, on tensors of a GPU that need none."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from irc_frontend.torch.preparation import with_channels_last

aten = torch.ops.aten


def two_convolutions(x: torch.Tensor, wide: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
    return torch.conv2d(torch.relu(torch.conv2d(x, wide)), point)


def traced(dtype: torch.dtype, device: str = "cuda") -> GraphModule:
    with FakeTensorMode(), torch.no_grad():
        shapes = [(2, 8, 16, 16), (24, 8, 3, 3), (8, 24, 1, 1)]
        return make_fx(two_convolutions)(*(torch.empty(shape, dtype=dtype, device=device) for shape in shapes))


def test_arguments_that_do_not_lie_so_are_copied() -> None:
    """What a convolution gives lies so on a GPU alone: `test_gpu_torch.py` has that."""
    graph = with_channels_last(traced(torch.bfloat16)).graph
    copies = graph.find_nodes(op="call_function", target=aten.clone.default)
    turned = [node.args[0] for node in copies if node.args[0].op == "placeholder"]
    assert [node.name.removesuffix("_1") for node in turned] == ["x", "wide"], (
        "not the weight of a convolution of points"
    )
    assert all(node.kwargs["memory_format"] is torch.channels_last for node in copies)


@pytest.mark.parametrize(("dtype", "device"), [(torch.float32, "cuda"), (torch.bfloat16, "cpu")])
def test_others_stay(dtype: torch.dtype, device: str) -> None:
    assert not with_channels_last(traced(dtype, device)).graph.find_nodes(op="call_function", target=aten.clone.default)
