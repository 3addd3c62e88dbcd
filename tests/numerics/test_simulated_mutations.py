"""Kernels of examples, and of attention, with one thing taken out: the simulator says what is missing.

This judges both sides. A barrier that is not missed is either one that the kernel does not need, or a race that the
simulator does not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from drawing import long
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation

from irc.driver.lowering import lower
from irc.driver.program import isolate, load, signature
from irc.interpreters.sim import SimulationError
from irc.ir.functions import entry_of
from irc.ir.locations import describe
from irc.runtime.artifact import ArraySpec
from irc.runtime.sim import SimProgram
from irc_tools.inputs import make_arguments

EXAMPLES = Path(__file__).parents[2] / "examples"

ATTENTION = """\
dim Q = 64, D = 64, S = 1152, E = 32

func cross_attention(q: bf16[Q, D], k: bf16[S, D], v: bf16[S, E]) -> bf16[Q, E] {
    return softmax(q @ transpose(k) * D ** -0.5) @ v
}
"""

TEXTS: Mapping[str, str] = {"attention": ATTENTION}
"""Programs that are not among the examples."""

SYNCHRONIZED: Mapping[str, Mapping[str, int]] = {
    "permute_2d": {"M": 64, "N": 64},
    "permute_nchw": {"N": 1, "H": 8, "W": 8},
    "softmax": {"M": 8},
    "layer_norm_backward": {"M": 16},
    "reductions": {"A": 4, "B": 8, "C": 64},
    # The channel of stages goes round.
    "gating": {"M": 128, "N": 128, "K": 768},
    "attention": {},
}

UNMISSED: Mapping[str, Sequence[str]] = {
    "gating": ("cuda.named_sync",),
    "attention": ("cuda.barrier_wait", "cuda.barrier_wait", "cuda.barrier_wait", "cuda.named_sync"),
}
"""What keeps a block's next tile from the one before, or its next step along the keys from those whose stages it takes:
at these sizes a block has one tile, and as many stages as steps."""

BARRIERS = ("cuda.sync", "cuda.named_sync", "cuda.warp_sync", "cuda.barrier_wait", "cuda.wgmma_wait")

GUARDED: Mapping[str, Mapping[str, int]] = {
    "permute_2d": {"M": 99, "N": 51},
    "gelu_chain": {"M": 5, "N": 33},
}


def lowered(name: str, dims: Mapping[str, int]) -> tuple[ModuleOp, Sequence[ArraySpec], Sequence[ArraySpec]]:
    module = isolate(load(TEXTS.get(name, EXAMPLES / f"{name}.irc"), dims=dims))
    arguments, results = signature(entry_of(module))
    return lower(module, "all", arch="sm_90a"), arguments, results


def places(module: ModuleOp, *names: str) -> list[int]:
    """The ops of these names, by their number in a walk."""
    return [number for number, op in enumerate(module.walk()) if op.name in names]


def mistake(module: ModuleOp, arguments: Sequence[ArraySpec], results: Sequence[ArraySpec]) -> SimulationError | None:
    """What the simulator finds wrong."""
    try:
        SimProgram(module, arguments, results).run(make_arguments(arguments, {}, 0), None)
    except SimulationError as error:
        return error
    return None


def op_at(module: ModuleOp, number: int) -> Any:
    return next(op for at, op in enumerate(module.walk()) if at == number)


@long(3)
@pytest.mark.parametrize("name", SYNCHRONIZED)
def test_every_barrier_is_missed(name: str) -> None:
    module, arguments, results = lowered(name, SYNCHRONIZED[name])
    found = places(module, *BARRIERS)
    assert found
    unmissed: list[str] = []
    for number in found:
        changed = module.clone()
        op: Operation = op_at(changed, number)
        if _stands_twice(op):
            continue
        what = f"{op.name} at {describe(op.location)}, op {number}"
        op.detach()
        op.erase()
        error = mistake(changed, arguments, results)
        if error is None:
            unmissed.append(op.name)
            continue
        assert error.kind in ("race", "uninitialized", "protocol"), f"{what}: {error}"
    assert tuple(unmissed) == UNMISSED.get(name, ()), "nothing misses these"


def _stands_twice(op: Operation) -> bool:
    """Whether the op waits for the products of a loop's last step, which is done in a branch in the loop
    (irc/lowering/dots.py says why) and again after it, for loops without a step: either will do."""
    if op.name != "cuda.wgmma_wait":
        return False
    parent = op.parent_op()
    if isinstance(parent, scf.IfOp):
        return op.parent_region() is parent.false_region
    return any(isinstance(before, scf.ForOp) and _ends_in_a_wait(before) for before in _before(op))


def _before(op: Operation) -> Iterator[Operation]:
    while (previous := op.prev_op) is not None:
        yield previous
        op = previous


def _ends_in_a_wait(loop: scf.ForOp) -> bool:
    branches = [inner for inner in loop.walk() if isinstance(inner, scf.IfOp)]
    return any(each.name == "cuda.wgmma_wait" for branch in branches for each in branch.false_region.walk())


@pytest.mark.parametrize("name", GUARDED)
def test_every_guard_of_an_access_is_missed(name: str) -> None:
    module, arguments, results = lowered(name, GUARDED[name])
    guards = [n for n in places(module, "scf.if") if _accesses(op_at(module, n))]
    assert guards
    for number in guards:
        changed = module.clone()
        op: scf.IfOp = op_at(changed, number)
        always = arith.ConstantOp.from_int_and_width(1, i1)
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(always, op)
        op.operands[0] = always.result
        error = mistake(changed, arguments, results)
        assert error is not None, f"nothing misses the condition at {describe(op.location)}, op {number}"
        assert error.kind in ("out of bounds", "race", "misaligned"), str(error)


def _accesses(op: scf.IfOp) -> bool:
    """Whether the branch is an access to global memory and nothing else."""
    return all(inner.name in ("cuda.load", "cuda.store", "scf.yield") for inner in op.true_region.block.ops)
