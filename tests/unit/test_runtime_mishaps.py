"""What may be wrong with the arrays of a call beside their types: freed memory, gradients that torch expects; and what
a thousand calls leave behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from noting_device import NotingDevice

import irc
import irc_frontend as ir
from irc.runtime import cuda
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.libraries import Torch
from irc.runtime.plan import Buffer, Launch, Plan
from irc.support.diagnostics import IrcError

DOUBLE = "func f(x: f32[4]) -> f32[4] {\n    return x * 2\n}\n"
SPEC = ArraySpec("x", (4,), "f32")
HOST = -1
"""The number that torch has for the device of tensors on the host."""


def freed() -> torch.Tensor:
    tensor = torch.ones(4)
    tensor.untyped_storage().resize_(0)
    return tensor


def takers() -> dict[str, Callable[[torch.Tensor], Any]]:
    """What takes tensors: a call with arrays of the host, one with arrays of a device, and lazy tensors."""
    library = Torch(torch)
    return {
        "call": irc.compile(DOUBLE, "cpu"),
        "take": lambda tensor: library.take(SPEC, tensor, 1),
        "lazy": lambda tensor: ir.Tensor(tensor).numpy(),
        "backend": torch.compile(lambda tensor: tensor.relu() * 2, backend="irc"),
    }


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("taker", ["call", "take", "lazy", "backend"])
def test_freed_tensors_are_one_clear_error(taker: str) -> None:
    take = takers()[taker]
    take(torch.ones(4))
    with pytest.raises(Exception, match="has no memory"):
        take(freed())
    take(torch.ones(4))


@pytest.mark.parametrize("taker", ["call", "take"])
def test_tensors_that_require_gradients_are_one_clear_error_where_torch_records(taker: str) -> None:
    take, tensor = takers()[taker], torch.ones(4, requires_grad=True)
    with pytest.raises(IrcError, match="argument x requires a gradient") as caught:
        take(tensor)
    assert "torch.no_grad()" in str(caught.value.hint)
    with torch.no_grad():
        take(tensor)
    take(tensor.detach())


def test_tensors_are_taken_at_once_only_where_they_are_as_expected() -> None:
    """Before and after a look at some that are."""
    specs = [SPEC, ArraySpec("y", (3, 4), "bf16")]
    quick = Torch(torch).quick(specs)
    assert quick is not None
    x, y = torch.ones(4), torch.ones(3, 4).bfloat16()
    needing = torch.ones(4, requires_grad=True)
    others = [
        needing,
        freed(),
        torch.ones(4).double(),
        torch.ones(8)[::2],
        torch.ones(5)[1:],
        torch.ones(4)._neg_view(),
    ]
    for _ in range(2):
        assert [quick([other, y], HOST) for other in others] == [None] * len(others)
        assert quick([x, torch.ones(4, 3).bfloat16().t()], HOST) is None
        assert quick([x, y], HOST + 1) is None
        assert quick([x, y], HOST) == [x.data_ptr(), y.data_ptr()]
        with torch.no_grad():
            assert quick([needing, y], HOST) == [needing.data_ptr(), y.data_ptr()]
    learning = Torch(torch).quick(specs)
    assert learning is not None
    for _ in range(2):
        with torch.no_grad():
            assert learning([needing, y], HOST) == [needing.data_ptr(), y.data_ptr()]
        assert learning([needing, y], HOST) is None
        assert learning([x, y], HOST) == [x.data_ptr(), y.data_ptr()]
    same = Torch(torch).quick([SPEC, SPEC])
    assert same is not None
    for _ in range(2):
        assert same([x, x], HOST) == [x.data_ptr()] * 2


def grown(call: Callable[[], Any]) -> int:
    """Objects that a thousand calls leave, after a thousand."""

    def objects() -> int:
        for _ in range(1000):
            call()
        gc.collect()
        return len(gc.get_objects())

    return -objects() + objects()


@pytest.mark.usefixtures("on_cpu")
def test_a_thousand_calls_leave_nothing() -> None:
    array, exe = np.ones(4, np.float32), irc.compile(DOUBLE, "cpu")
    lazily: Callable[[Any], Any] = ir.jit(lambda x: x * 2)
    assert grown(lambda: exe(array)) < 50
    assert grown(lambda: lazily(array).numpy()) < 50
    assert grown(lambda: (ir.Tensor(array) * 2).numpy()) < 50


@pytest.mark.parametrize("arena", [0, 256, 1 << 30])
def test_a_thousand_calls_of_the_cuda_runtime_leave_nothing(arena: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With kernels and memory that are noted alone: no arena, one that is kept, and one that each call allocates."""
    device = NotingDevice()
    monkeypatch.setattr(cuda, "device", lambda ordinal=0: device)
    parameters = (Buffer("argument", 0, 0, 16), Buffer("result", 0, 0, 16))
    plan = Plan("f", arena, 1, 0, (), (Launch("k", (1, 1, 1), 32, (1, 1, 1), 0, parameters, 0),))
    kernels = (KernelBinary("k", "", "", b"", "f.irc:1:1"),)
    program = cuda.CudaProgram(Artifact("sm_90a", (SPEC,), (SPEC,), plan.to_json(), {}, kernels))

    calls = dict.fromkeys(("allocate", "free"), 0)

    def call() -> None:
        program.run([np.ones(4, np.float32)], None)
        for name in calls:
            calls[name] += sum(call[0] == name for call in device.calls)
        device.calls.clear()

    assert grown(call) < 50
    assert calls["allocate"] - calls["free"] == (arena == 256)
