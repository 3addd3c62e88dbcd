"""Tensors whose values stay on a GPU, and arrays of torch that go in and out without a copy."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.artifact import DTYPES
from irc.runtime.driver import is_present
from irc.support.diagnostics import IrcError
from irc_frontend import nn, optim

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

X = np.random.default_rng(0).standard_normal((5, 7)) * 10


@pytest.fixture(autouse=True)
def on_gpu() -> Generator[None]:
    with ir.target("cuda"):
        yield


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shape", [(5, 7), (1,), (0, 3), ()])
def test_there_and_back(element: str, shape: tuple[int, ...]) -> None:
    x = np.resize(X, shape).astype(DTYPES[element])
    there = ir.Tensor(x).to("cuda")
    assert there.value().__dlpack_device__() == (2, 0)
    back = there.to("cuda:0").to("cpu").value()
    assert isinstance(back, np.ndarray)
    assert (back.dtype, back.shape, back.tobytes()) == (x.dtype, x.shape, x.tobytes())


def test_results_stay_where_an_argument_is() -> None:
    x = X.astype(np.float32)
    there = ir.Tensor(x).to("cuda")
    total = ir.Tensor(x) + there
    assert total.value().__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(total.numpy(), x + x)
    twice = ir.jit(lambda a, b: {"sum": a + b, "product": a * b})(x, there)
    assert twice["sum"].value().__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(twice["product"].numpy(), x * x)
    with ir.target("cpu"):
        np.testing.assert_array_equal((total * 2).numpy(), x * 4)


@pytest.mark.parametrize("donate", [(), (0, 1)])
def test_a_training_step_on_the_device(donate: tuple[int, ...]) -> None:
    model, optimizer = nn.Linear(7, 300), optim.AdamW(0.1)
    x, y = X.astype(np.float32), np.arange(5) % 3

    @ir.jit(donate=donate)
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        loss, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(params)
        return *optimizer.update(params, gradients, state), loss

    def trained(device: str) -> Any:
        params = model.init(0)
        state: Any = ir.tree_map(lambda leaf: leaf.to(device), (params, optimizer.init(params)))
        before = [leaf.value() for leaf in ir.tree_leaves(state)]
        for _ in range(20):
            *state, _ = step(*state, x, y)
        after = [leaf.value() for leaf in ir.tree_leaves(state)]
        if device == "cuda":
            assert all(a is b for a, b in zip(before, after, strict=True)) == bool(donate)
        return [leaf.numpy() for leaf in ir.tree_leaves(state)]

    for a, b in zip(trained("cuda"), trained("cpu"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_torch_without_copies() -> None:
    torch: Any = pytest.importorskip("torch")
    there = torch.tensor(X, dtype=torch.float32, device="cuda")
    y = ir.Tensor(there)
    assert torch.from_dlpack(y).data_ptr() == there.data_ptr()
    total = y + X.astype(np.float32)
    assert isinstance(total.value(), torch.Tensor)
    np.testing.assert_array_equal(total.numpy(), 2 * X.astype(np.float32))
    ours = ir.Tensor(X.astype(np.float32)).to("cuda")
    taken = torch.from_dlpack(ours)
    assert taken.data_ptr() == ours.value().address
    taken.add_(1)
    torch.cuda.synchronize()
    np.testing.assert_array_equal(ours.numpy(), X.astype(np.float32) + np.float32(1))


def test_unknown_devices() -> None:
    for name in ("gpu", "cuda:x", "cpu:1"):
        with pytest.raises(IrcError, match="unknown device"):
            ir.Tensor(X).to(name)


def test_products_are_enqueued_and_waited_for() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(DTYPES["bf16"]) for shape in ((512, 256), (256, 384)))
    config = {"tile": {"m": 128, "n": 128, "k": 64}, "stages": 3}
    operation = ir.MatmulOperation("bf16", ir.Operand("bf16", "column"), "f32", epilogue=ir.relu, config=config)
    wanted = np.maximum(2 * (a.astype(np.float64) @ b.astype(np.float64)) + 0.5, 0)
    c = np.ones((512, 384), np.float32)
    runs = [operation.run(a, np.asfortranarray(b), c, alpha=alpha, beta=0.5) for alpha in (2.0, 2.0, 0.0)]
    found = [run.sync() for run in runs]
    np.testing.assert_array_equal(found[1], wanted)
    np.testing.assert_array_equal(found[2], np.full((512, 384), 0.5))
    assert all(run.is_done for run in runs)
    there = operation.run(ir.Tensor(a).to("cuda"), np.asfortranarray(b), c, alpha=2.0, beta=0.5).sync()
    assert there.value().__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(there.numpy(), wanted)


def test_products_on_a_stream_of_torch() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randint(-3, 4, shape, device="cuda").bfloat16() for shape in ((512, 256), (384, 256)))
    operation = ir.MatmulOperation("bf16", ir.Operand("bf16", "column"), ir.Operand("f32", "column"))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    found = operation.run(a, b.t(), stream=stream).sync()
    torch.testing.assert_close(found, a.float() @ b.t().float(), rtol=0, atol=0)
    out = torch.empty(384, 512, device="cuda").t()
    assert operation.run(a, b.t(), out=out).sync() is out
    torch.testing.assert_close(out, found, rtol=0, atol=0)
