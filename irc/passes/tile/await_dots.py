"""await-dots: wgmma dots stay in flight until something needs what they give, or what they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAID_OUT
from irc.analysis.matrix_instructions import is_asynchronous, sums_in_tensor_memory
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import behind, block_of, end_of
from irc.scheduling.loops import with_carried


@dataclass(frozen=True)
class AwaitDotsPass(ProgramPass):
    """A wgmma dot -> one whose result is pending, and a `dot_wait` before the first op that needs it: one that is no
    dot that goes on with it, or the release of a stage that it reads. Where a loop only carries the result to the next
    dot, it is carried as pending, and waited for behind the loop; a stage of the iteration before is released behind an
    `await`. A result of which the next iteration computes something, before it issues that dot again, is carried as
    pending too. Of dots on parts of K whose left operands are in registers, each is awaited an iteration later, before
    its part is computed again; of two that are computed in 16 bits, before the first map. Other dots are left alone.

    Dots whose sums are in Tensor Memory begin in a `tile.accumulator`. A stage that they read is released when they are
    complete, and nothing waits for that.
    """

    name: ClassVar[str] = "await-dots"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        _await_dots(program)


def _await_dots(program: tile.ProgramOp) -> None:
    for dot in [op for op in program.walk() if is_asynchronous(op) and _is_carried_ahead(op)]:
        _carry_ahead(dot)
    for dot in [op for op in program.walk() if is_asynchronous(op) and isinstance(op.result.type, TensorType)]:
        if _is_only_carried(dot):
            _carry_pending(dot)
        else:
            if sums_in_tensor_memory(dot) and isinstance(dot.acc.type, TensorType):
                dot.operands[2] = _begun(dot.acc, dot, dot)
            _await_in_place(dot.result, dot)
    for loop in [op for op in program.walk() if isinstance(op, scf.ForOp)]:
        _free_registers(loop)
    for release in [op for op in program.walk() if isinstance(op, tile.ReleaseOp) and op.after]:
        _await_before(release)


def _is_only_carried(dot: tile.DotOp) -> bool:
    """Whether a loop does no more with what a dot gives than to carry it to dots that go on with it."""
    block = dot.parent
    end = None if block is None else block.last_op
    if not isinstance(dot.parent_op(), scf.ForOp) or not any(use.operation is end for use in dot.result.uses):
        return False
    arguments = _arguments(dot)
    used = [use.operation for value in (dot.result, *arguments) for use in value.uses if use.operation is not end]
    own = [use.operation for use in dot.result.uses]
    released_at_once = not sums_in_tensor_memory(dot) and any(isinstance(op, tile.ReleaseOp) for op in own)
    return not released_at_once and all(is_asynchronous(op) or isinstance(op, tile.ReleaseOp) for op in used)


def _arguments(dot: tile.DotOp) -> list[BlockArgument]:
    """The arguments in which a loop has what the dot gave in the iteration before."""
    block = dot.parent
    end = None if block is None else block.last_op
    if block is None or end is None or not isinstance(block.parent_op(), scf.ForOp):
        return []
    return [block.args[1 + at] for at, value in enumerate(end.operands) if value is dot.result]


def _carry_pending(dot: tile.DotOp) -> None:
    """The loop around a dot carries its result in flight."""
    loop = dot.parent_op()
    assert isinstance(loop, scf.ForOp)
    for argument in _arguments(dot):
        at = argument.index - 1
        begun = loop.operands[3 + at] = _begun(loop.iter_args[at], dot, loop)
        Rewriter.replace_value_with_new_type(argument, begun.type)
        _await_in_place(loop.results[at], dot)
    Rewriter.replace_value_with_new_type(dot.result, tile.PendingType(dot.result.type))


def _is_carried_ahead(dot: tile.DotOp) -> bool:
    """Whether a loop carries what a dot gives to the next iteration, where something is computed of it before the dot
    is issued again, which begins with zero; and begins with what another dot gives."""
    arguments, loop, block = _arguments(dot), dot.parent_op(), block_of(dot)
    if not isinstance(dot.result.type, TensorType) or sums_in_tensor_memory(dot):
        return False
    if not isinstance(loop, scf.ForOp) or len(arguments) != 1 or not dot.result.has_one_use() or not _is_zero(dot.acc):
        return False
    start = loop.iter_args[arguments[0].index - 1]
    used = [block.find_ancestor_op_in_block(use.operation) for use in arguments[0].uses]
    is_over = bool(used) and all(op is not None and op.is_before_in_block(dot) for op in used)
    return is_over and isinstance(start.owner, Operation) and is_asynchronous(start.owner) and start.has_one_use()


def _is_zero(value: SSAValue) -> bool:
    constant = value.owner.value.owner if isinstance(value.owner, tile.SplatOp) else None
    number = constant.value if isinstance(constant, arith.ConstantOp) else None
    return isinstance(number, FloatAttr | IntegerAttr) and number.value.data == 0


def _carry_ahead(dot: tile.DotOp) -> None:
    """The loop carries the dot's result in flight, and waits for it before the first op that needs it."""
    (argument,), loop = _arguments(dot), dot.parent_op()
    assert isinstance(loop, scf.ForOp)
    at = argument.index - 1
    start = loop.iter_args[at]
    pending = tile.PendingType(start.type)
    Rewriter.replace_value_with_new_type(start, pending)
    carried = Rewriter.replace_value_with_new_type(argument, pending)
    uses, block = list(carried.uses), loop.body.block
    needing = {block.find_ancestor_op_in_block(use.operation) for use in uses}
    wait = tile.DotWaitOp(carried, dot.location)
    Rewriter.insert_op(wait, InsertPoint.before(next(op for op in block.ops if op in needing)))
    for use in uses:
        use.operation.operands[use.index] = wait.result
    Rewriter.replace_value_with_new_type(dot.result, pending)
    _await_in_place(loop.results[at], dot)


def _begun(value: SSAValue, dot: tile.DotOp, before: Operation) -> SSAValue:
    """What a dot, or a loop around it, begins with, as if a dot had given it: sums in Tensor Memory in an accumulator
    of the partition, or of the program."""
    sums: SSAValue | None = None
    if sums_in_tensor_memory(dot):
        accumulator = tile.AccumulatorOp(value.type)
        accumulator.location = dot.location
        Rewriter.insert_op(accumulator, InsertPoint.at_start(_code_of(dot)))
        sums = accumulator.result
    begin = tile.AsPendingOp(value, sums)
    begin.location = dot.location
    Rewriter.insert_op(begin, InsertPoint.before(before))
    return begin.result


def _code_of(op: Operation) -> Block:
    """The block of an op's partition, or of its program."""
    block = block_of(op)
    while (parent := block.parent_op()) is not None and not isinstance(parent, tile.PartitionsOp | tile.ProgramOp):
        block = block_of(parent)
    return block


def _await_in_place(value: SSAValue, dot: tile.DotOp) -> None:
    """Makes what a dot gives pending, and waits for it before the first op of its block that needs it. Where the dot
    releases what it reads itself, the release does not need it."""
    assert isinstance(value, OpResult)
    block = block_of(value.op)
    uses = list(value.uses)
    going_on = [use for use in uses if is_asynchronous(use.operation) and use.operation.acc is value]
    released = [use for use in uses if sums_in_tensor_memory(dot) and isinstance(use.operation, tile.ReleaseOp)]
    others = [use for use in uses if use not in (*going_on, *released)]
    needing = {block.find_ancestor_op_in_block(use.operation) for use in others}
    if going_on and any(not isinstance(use.operation, tile.ReleaseOp) for use in others):
        return
    tensor = value.type
    pending = Rewriter.replace_value_with_new_type(value, tile.PendingType(tensor))
    first = next((op for op in behind(value.op) if op in needing), None)
    if first is None:
        return
    wait = tile.DotWaitOp(pending, dot.location)
    wait.result.name_hint = pending.name_hint
    Rewriter.insert_op(wait, InsertPoint.before(first))
    for use in others:
        use.operation.operands[use.index] = wait.result


def _await_before(release: tile.ReleaseOp) -> None:
    """A release behind the dots that it comes after, which are waited for by then, or awaited here."""
    if any(sums_in_tensor_memory(dot.owner) for dot in release.after if isinstance(dot.owner, Operation)):
        return
    for dot in release.after:
        if isinstance(dot.type, tile.PendingType) and not _is_awaited(dot, release):
            Rewriter.insert_op(tile.AwaitOp(dot, release.location), InsertPoint.before(release))
    bare = tile.ReleaseOp(release.slot, (), release.location)
    Rewriter.replace_op(release, bare)


def _is_awaited(dot: SSAValue, op: Operation) -> bool:
    """Whether the block of an op has waited for a dot before it."""
    while (before := op.prev_op) is not None:
        if isinstance(before, tile.AwaitOp | tile.DotWaitOp) and before.operands[0] is dot:
            return True
        op = before
    return False


def _free_registers(loop: scf.ForOp) -> None:
    """Dots on parts of K are awaited before the registers of their left operands are written again: each behind the dot
    before it, the first one behind the last."""
    block = loop.body.block
    dots = [op for op in block.ops if is_asynchronous(op) and isinstance(op.lhs.type, TensorType)]
    arguments = _arguments(dots[-1]) if dots else []
    if len(dots) < 2 or not arguments or not isinstance(dots[-1].result.type, tile.PendingType):
        return
    if any(after.acc is not before.result for before, after in pairwise(dots)):
        return
    accumulator, location = arguments[0], dots[-1].location
    begin = loop.iter_args[accumulator.index - 1]
    ahead = _reads_ahead(block, dots)
    others = dots[:1] if ahead else dots[1:-1]
    before: dict[tile.DotOp, SSAValue] = {dots[-1]: accumulator}
    for dot in others:
        before[dot] = block.insert_arg(accumulator.type, len(block.args))
    if ahead:
        first = next(op for op in block.ops if isinstance(op, tile.MapOp))
        Rewriter.insert_op(tile.AwaitOp(before[dots[0]], location), InsertPoint.before(first))
    for dot, following in pairwise(dots):
        Rewriter.insert_op(tile.AwaitOp(before[following], location), InsertPoint.after(dot))
    if not ahead:
        Rewriter.insert_op(tile.AwaitOp(dots[0].result, location), InsertPoint.after(dots[-1]))
    _carry_more(loop, [dot.result for dot in others], [begin] * len(others))


def _carry_more(loop: scf.ForOp, values: Sequence[SSAValue], starts: Sequence[SSAValue]) -> None:
    """The loop carries values too, for which its block has arguments already."""
    last = end_of(loop.body.block)
    yields = scf.YieldOp(*last.operands, *values)
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    new = with_carried(loop, [*loop.iter_args, *starts])
    new.attributes |= loop.attributes
    for old, result in zip(loop.results, new.results, strict=False):
        result.name_hint = old.name_hint
    Rewriter.replace_op(loop, [], new.results[: len(loop.results)])


def _reads_ahead(block: Block, dots: Sequence[tile.DotOp]) -> bool:
    """Whether a step of two parts begins to read while both dots of the one before are in flight: what the last one
    waits for is waited for before the first map, which computes a part in registers that are free then. Steps of more
    parts, and maps that compute in 32 bits, need more registers than ptxas leaves: it would serialize the products."""
    maps = [op for op in block.ops if isinstance(op, tile.MapOp)]
    return len(dots) == 2 and all(isinstance(dot.lhs.owner, tile.MapOp) for dot in dots) and all(map(_is_narrow, maps))


def _is_narrow(op: tile.MapOp) -> bool:
    """Whether a map computes floats of 16 bits."""
    return all(isinstance(v.type, Float16Type | BFloat16Type) for each in op.body.block.ops for v in each.results)
