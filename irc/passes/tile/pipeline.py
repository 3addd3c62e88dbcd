"""pipeline: buffers that a loop fills and multiplies become stages of a ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.passes.tile.configs import config_of
from irc.passes.tile.rings import alloc_bytes
from irc.rewriting import give_location
from irc.targets import target

EPILOGUE_BYTES = 40 * 1024
"""Shared memory left to the epilogue where the config does not say how many stages there are."""
MOST_STAGES = 8


@dataclass(frozen=True)
class PipelinePass(ModulePass):
    """A loop with a wgmma dot: its operand buffers -> a ring, `acquire` and `commit` around what fills them, `wait`
    before the dot and `release` after it. One dot stays in flight: its stage is released when the next one has been
    issued. A ring of one stage has none to fill meanwhile, and is released at once; so is one whose dot's result the
    loop does more with than carry it.
    """

    name: ClassVar[str] = "pipeline"
    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                loops = [o for o in program.walk() if isinstance(o, scf.ForOp) and _products(o)]
                for loop in loops:
                    _pipeline(program, loop, self.arch, len(loops))


def _is_wgmma(op: Operation) -> bool:
    return isinstance(op, tile.DotOp) and op.instruction is not None and op.instruction.data == "wgmma"


def _products(loop: scf.ForOp) -> list[tile.DotOp]:
    return [op for op in loop.body.block.ops if isinstance(op, tile.DotOp) and _is_wgmma(op)]


def _pipeline(program: tile.ProgramOp, loop: scf.ForOp, arch: str, rings: int) -> None:
    """`rings` is how many loops of the program get one: they share the stages that the config asks for."""
    block, dots = loop.body.block, _products(loop)
    buffers = list(dict.fromkeys(b for dot in dots for b in (dot.lhs, dot.rhs) if isinstance(b.owner, tile.AllocOp)))
    if not buffers:
        return
    allocs = [b.owner for b in buffers if isinstance(b.owner, tile.AllocOp)]
    ring = tile.RingOp(_stages(program, allocs, arch, rings), [b.type for b in buffers], _cluster(loop))
    ring.location = loop.location
    first = program.body.block.first_op
    assert first is not None
    Rewriter.insert_op(ring, InsertPoint.before(first))
    _fill_stages(ring, block, buffers)
    _drain_stages(ring, loop, dots, buffers)
    for alloc in allocs:
        Rewriter.erase_op(alloc)


def _cluster(loop: scf.ForOp) -> tuple[int, int] | None:
    """The cluster whose blocks fill each other's stages; None of a block by itself."""
    parent = loop.parent_op()
    while parent is not None and not isinstance(parent, tile.ForTilesOp):
        parent = parent.parent_op()
    return parent.cluster_shape if parent is not None and parent.cluster is not None else None


def _stages(program: tile.ProgramOp, allocs: list[tile.AllocOp], arch: str, rings: int) -> int:
    stages = config_of(program).stages
    if stages is None:
        room = target(arch).shared_memory - EPILOGUE_BYTES
        stages = min(MOST_STAGES, room // sum(alloc_bytes(a) for a in allocs))
    return max(1, stages // rings)


def _is_fill(op: Operation) -> bool:
    return isinstance(op, tile.CopyOp | tile.WriteOp)


def _fill_stages(ring: tile.RingOp, block: Block, buffers: list[SSAValue]) -> None:
    fills = [op for op in block.ops if _is_fill(op) or isinstance(op, tile.SubviewOp)]
    acquire = tile.AcquireOp(ring.ring)
    acquire.location = fills[0].location
    Rewriter.insert_op(acquire, InsertPoint.before(fills[0]))
    for old, new in zip(buffers, acquire.buffers, strict=True):
        new.name_hint = old.name_hint
        for use in list(old.uses):
            if not isinstance(use.operation, tile.DotOp):
                use.operation.operands[use.index] = new
    commit = tile.CommitOp(ring.ring)
    commit.location = fills[-1].location
    Rewriter.insert_op(commit, InsertPoint.after(fills[-1]))


def _drain_stages(ring: tile.RingOp, loop: scf.ForOp, dots: list[tile.DotOp], buffers: list[SSAValue]) -> None:
    location = dots[0].location
    _put_last(loop.body.block, dots)
    wait = tile.WaitOp(ring.ring)
    wait.location = location
    Rewriter.insert_op(wait, InsertPoint.before(dots[0]))
    for old, new in zip(buffers, wait.buffers, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    if len(dots) > 1 or ring.stage_count == 1 or not _is_carried(loop, dots[0]):
        release = tile.ReleaseOp(ring.ring)
        release.location = location
        Rewriter.insert_op(release, InsertPoint.after(dots[-1]))
        return
    _keep_in_flight(ring, loop, dots[0])


def _put_last(block: Block, dots: list[tile.DotOp]) -> None:
    """Moves dots, and what depends on them, behind all that fills the stage, so that it can be waited for before the
    first of them; where something that fills it depends on a dot, nothing."""
    last = block.last_op
    assert last is not None
    moved: dict[Operation, None] = dict.fromkeys(dots)
    for op in block.ops:
        if any(value.owner in moved for inner in op.walk() for value in inner.operands):
            moved[op] = None
    moved.pop(last, None)
    if any(_is_fill(op) for op in moved):
        return
    for op in [op for op in block.ops if op in moved]:
        op.detach()
        block.insert_op_before(op, last)


def _is_carried(loop: scf.ForOp, dot: tile.DotOp) -> bool:
    """Whether nothing but the loop's next iteration uses the dot's result."""
    return all(use.operation is loop.body.block.last_op for use in dot.result.uses)


def _keep_in_flight(ring: tile.RingOp, loop: scf.ForOp, dot: tile.DotOp) -> None:
    """Releases the stage of the dot before; the last dot and its stage are waited for and released after the loop."""
    location = dot.location
    dot.in_flight = IntegerAttr(1, i64)
    later = arith.CmpiOp(loop.body.block.args[0], loop.lb, "ugt")
    lagging = tile.ReleaseOp(ring.ring, lag=1)
    branch = scf.IfOp(later.result, [], Region(Block([lagging, scf.YieldOp()])))
    for op in (later, branch):
        give_location(op, location)
    Rewriter.insert_op([later, branch], InsertPoint.after(dot))
    last = loop.body.block.last_op
    assert last is not None
    result = loop.results[list(last.operands).index(dot.result)]
    done = tile.DotWaitOp(result, location=location)
    release = tile.ReleaseOp(ring.ring)
    release.location = location
    Rewriter.insert_op([done, release], InsertPoint.after(loop))
    for use in list(result.uses):
        if use.operation is not done:
            use.operation.operands[use.index] = done.result
