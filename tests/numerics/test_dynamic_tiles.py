"""Kernels whose blocks take tiles while they run, on the simulator: right, and without a race, by every instruction and
however late copies land; late blocks find nothing but their first tile; each thing that orders tickets is missed."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest
from drawing import long
from numerics.lowered import Lowered, lowered
from xdsl.ir import Operation

import irc
from irc.dialects import cuda
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.program import parse
from irc.interpreters.sim import SimulationError
from irc.interpreters.sim.launch import Kernel
from irc.ir.targets import target
from irc.runtime.sim import SimProgram

SMS = target("sm_90a").sms
DIMS = "dim M = 456, K = 80, N = 640\n"
PRODUCT = f"{DIMS}func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {{ return x @ w }}"
EPILOGUE = f"""{DIMS}func f(x: bf16[M, K], w: bf16[K, N], b: bf16[N], r: bf16[M, N]) -> bf16[M, N] {{
    return gelu(x @ w + b, approximate="tanh") + r
}}"""
COMPUTED = f"""{DIMS}func f(x: bf16[M, K], s: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {{
    return (relu(x) * s) @ w
}}"""
TURNED = f"{DIMS}func f(x: i8[M, K], w: i8[K, N]) -> i32[M, N] {{ return x @ w }}"
SEVERAL = f"""{DIMS}func f(x: bf16[M, K], y: bf16[M, K], w: bf16[K, N]) -> (bf16[M, N], bf16[M, N]) {{
    return relu(x @ w), y @ w
}}"""
GROUPS = """func f(x: bf16[256, 72], w: bf16[3, 72, 960], e: i32[3]) -> bf16[256, 960] {
    return grouped_matmul(x, w, e)
}"""
TILE = (64, 32, 32)

PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": (PRODUCT, {}),
    "one stage": (PRODUCT, {"stages": 1}),
    "one step": (PRODUCT.replace("K = 80", "K = 32"), {"stages": 4}),
    "epilogue": (EPILOGUE, {}),
    "computed operand": (COMPUTED, {}),
    "threads that load": (TURNED, {}),
    "along N": (PRODUCT, {"swap_ab": True, "tile": (32, 64, 32)}),
    "mma": (PRODUCT, {"instruction": "mma"}),
    "fma": (PRODUCT, {"instruction": "fma"}),
    "several launches": (SEVERAL, {}),
    "groups": (GROUPS, {"given": {2: np.array([70, 71, 250], np.int32)}}),
}

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])


@cache
def program(name: str) -> Lowered:
    text, options = PROGRAMS[name]
    given: dict[str, Any] = {"tile": TILE, **options}
    return lowered(text, schedule="dynamic", **given)


@long(3)
@both_times
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_right(name: str, lazy: bool) -> None:
    assert program(name).ops("cuda.atomic") == sum(isinstance(op, cuda.KernelOp) for op in program(name).module.ops)
    program(name).check(lazy=lazy)


def test_a_counter_is_zeroed_once_a_call() -> None:
    (zeros,) = (op for op in program("several launches").module.walk() if op.name == "host.memset")
    assert zeros.next_op is not None and zeros.next_op.name == "host.launch"
    assert program("several launches").ops("host.launch") == 2


def tickets_by_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many blocks the simulator has run to their end, and how many tickets they took, batch by batch: the blocks of
    each begin when those before have ended."""
    found: list[tuple[int, int]] = []
    run = Kernel._run_batch

    def noting(self: Kernel, grid: Any, first: int, blocks: int, arguments: Any, *rest: Any, **options: Any) -> None:
        run(self, grid, first, blocks, arguments, *rest, **options)
        counter = next(a for a, op in zip(arguments, self.op.arguments, strict=True) if op.name_hint == "counter")
        at = counter.span.start
        found.append((first + blocks, int(counter.span.memory.data[at : at + 4].view("i4")[0])))

    monkeypatch.setattr(Kernel, "_run_batch", noting)
    own = program(name)
    SimProgram(own.module, own.arguments, own.results).run(own.arrays, None)
    return found


@pytest.mark.parametrize("name", ["plain", "threads that load", "mma"])
def test_blocks_that_begin_late_have_one_tile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks that run first take all tiles that are not the first ones of others. Each tile costs one ticket."""
    tiles = prod(-(-extent // size) for extent, size in zip((456, 640), TILE, strict=False))
    assert tiles > SMS
    batches = tickets_by_batch(name, monkeypatch)
    assert len(batches) > 2 and batches[-1] == (SMS, tiles)
    for blocks, tickets in batches:
        assert tickets == tiles - SMS + blocks


def test_a_kernel_whose_blocks_have_one_tile_takes_no_tickets() -> None:
    own = lowered(PRODUCT.replace("M = 456", "M = 256"), TILE, schedule="dynamic")
    assert not own.ops("cuda.atomic") and not own.ops("host.memset")
    own.check()


@pytest.mark.parametrize("rows", [8, 456])
def test_the_number_of_tiles_is_that_of_a_call(rows: int) -> None:
    """Of fewer tiles than blocks, and of more: the same kernel takes tickets of both."""
    executable = of_any_rows()
    (x, w) = (
        np.random.default_rng(0).standard_normal(n, np.float32).astype(np.float16) for n in ((rows, 80), (80, 640))
    )
    expected = x.astype(np.float32) @ w.astype(np.float32)
    assert np.abs(executable(x, w) - expected).max() < 2e-3 * np.abs(expected).max()


@cache
def of_any_rows() -> Any:
    text = "dim M in 1..4096 multiple 8\nfunc f(x: f16[M, 80], w: f16[80, 640]) -> f16[M, 640] { return x @ w }"
    module = parse(text, "test")
    run_passes(module, passes_of(KERNEL[: KERNEL.index("choose-config")]))
    (kernel,) = (op for op in module.walk() if isinstance(op, FusedOp))
    kernel.config = ConfigAttr.of(tile=TileSizes(dict(zip("mnk", TILE, strict=True))), schedule="dynamic")
    return irc.compile(module, target="sim", arch="sm_90a")


def test_waits_for_tickets_are_missed() -> None:
    """Of a producer that is ahead, for a stage that is read; of others, for the ticket."""
    loads = [op for op in program("one step").module.walk() if isinstance(op, cuda.SharedLoadOp) and _is_word(op)]
    takes = [op for op in program("one step").module.walk() if isinstance(op, cuda.AtomicOp)]
    waits = [_nearest(op, cuda.BarrierWaitOp, forward=False) for op in (*loads, *takes)]
    assert len(waits) == 2
    for wait in waits:
        assert mistake_without("one step", wait) in ("race", "protocol")


@pytest.mark.parametrize(("name", "barrier"), [("threads that load", cuda.NamedSyncOp), ("mma", cuda.SyncOp)])
def test_threads_meet_before_they_read_the_ticket_of_one(name: str, barrier: type[Operation]) -> None:
    (take,) = (op for op in program(name).module.walk() if isinstance(op, cuda.AtomicOp))
    branch = take.parent_op()
    assert branch is not None and branch.name == "scf.if"
    assert mistake_without(name, _nearest(branch, barrier, forward=True)) in ("race", "uninitialized")


def mistake_without(name: str, missing: Operation) -> str:
    """What the simulator finds wrong of a program without an op."""
    own = program(name)
    number = next(at for at, op in enumerate(own.module.walk()) if op is missing)
    changed = own.module.clone()
    op = next(op for at, op in enumerate(changed.walk()) if at == number)
    op.detach()
    op.erase()
    with pytest.raises(SimulationError) as caught:
        SimProgram(changed, own.arguments, own.results).run(own.arrays, None)
    return caught.value.kind


def _is_word(op: cuda.SharedLoadOp) -> bool:
    return op.array.name_hint is not None and op.array.name_hint.startswith("word")


def _nearest(op: Operation, kind: type[Operation], *, forward: bool) -> Operation:
    """The next op of a kind, or the one before, in the same block."""
    found = op.next_op if forward else op.prev_op
    while not isinstance(found, kind):
        assert found is not None
        found = found.next_op if forward else found.prev_op
    return found
