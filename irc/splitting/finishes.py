"""The end of reductions in parts, by the kernel that reads it.

A product of few rows and a long K is cut into parts of K, whose sums are a few rows for each part. A kernel that adds
these up takes as long as its launch; the one that reads what they come to adds them up where it loads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from irc.analysis.op_classes import is_elementwise, is_reduction, is_transparent, is_view, shape_of, size_of
from irc.analysis.readers import MAX_PARTS, domain_of, reader_of, uses_of
from irc.analysis.reduction_problem import reduction_of
from irc.dialects import nd
from irc.dialects.kernel import Anchor, FusedOp, YieldOp
from irc.dialects.nd.base import ints
from irc.dialects.nd.terms import Term
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter, location_of
from irc.ir.targets import Target
from irc.support.integers import ceil_div


def finish_in_readers(finishes: Sequence[FusedOp], machine: Target) -> None:
    """Does the work of kernels that add up a few parts in the only kernels that read their results, where these load
    the parts in less time than half a launch."""
    if machine.exact_tiles:
        return
    for finish in finishes:
        reader = reader_of(finish) if _is_sum_of_parts(finish) else None
        if reader is not None and reader not in finishes and _is_short(finish, reader, machine):
            _inline(finish, reader)


def _is_sum_of_parts(finish: FusedOp) -> bool:
    """Whether the kernel adds up a few parts, each an array, and does no more than elementwise work on the sums."""
    sums = [op for op in finish.block.ops if is_reduction(op)]
    others = [op for op in finish.block.ops if op not in sums and not isinstance(op, YieldOp)]
    is_elementwise_behind = all(is_elementwise(op) or is_transparent(op) or is_view(op) for op in others)
    return bool(sums) and all(map(_is_of_parts, sums)) and is_elementwise_behind


def _is_of_parts(op: Operation) -> bool:
    if not isinstance(op, nd.SumOp) or not isinstance(op.x, BlockArgument) or ints(op.axes) != (0,):
        return False
    return 1 < shape_of(op.x)[0] <= MAX_PARTS and element_of(op.x.type) == element_of(op.result.type)


def _is_short(finish: FusedOp, reader: FusedOp, machine: Target) -> bool:
    """Whether each SM that has a block of the reader loads the parts that it needs in less time than half a launch."""
    if reader.config is None or reader.config.tile is None:
        return False
    rows = domain_of(reader) if reader.kind is Anchor.MAP else reduction_of(reader).rows
    blocks = min(machine.sms, ceil_div(rows, reader.config.tile["d"]))
    loaded = sum(size_of(value) * element_of(value.type).size for value in finish.inputs)
    return loaded / blocks / machine.costs.operand_bytes <= machine.costs.launch / machine.sms / 2


def _inline(finish: FusedOp, reader: FusedOp) -> None:
    """Puts the work of a kernel before that of the one that reads its results, and removes the kernel."""
    block, inputs = reader.block, list(reader.inputs)
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    at = Inserter(Builder(InsertPoint.at_start(block)), location_of(finish))
    known: dict[SSAValue, SSAValue] = {}
    for inner, operand in zip(finish.block.args, finish.inputs, strict=True):
        if operand not in arguments:
            arguments[operand] = block.insert_arg(operand.type, len(block.args))
            arguments[operand].name_hint = operand.name_hint
            inputs.append(operand)
        known[inner] = arguments[operand]
    for op in finish.block.ops:
        if isinstance(op, nd.SumOp):
            known[op.result] = _sum_of_parts(Term(known[op.x], at)).value
        elif not isinstance(op, YieldOp):
            copy = at(op.clone(known))
            known |= dict(zip(op.results, copy.results, strict=True))
    read = {
        block.args[index]: known[inner]
        for inner, value in zip(finish.yielded.outputs, finish.results, strict=True)
        for _, index in uses_of(value)
    }
    for argument, value in read.items():
        argument.replace_all_uses_with(Term(value, at).reshape(shape_of(argument)).value)
    kept = [i for i, argument in enumerate(block.args) if argument not in read]
    reader.operands = [inputs[i] for i in kept]
    for argument in read:
        block.erase_arg(argument)
    for op in (*reversed(list(_views(finish.results))), finish):
        op.detach()
        op.erase()


def _views(values: Sequence[SSAValue]) -> Iterator[Operation]:
    """The views of values, each before its own."""
    for op in [use.operation for value in values for use in value.uses if is_view(use.operation)]:
        yield op
        yield from _views(op.results)


def _sum_of_parts(parts: Term) -> Term:
    """The sum along the first axis, as elementwise work."""
    count, *shape = parts.shape
    first, *others = (
        parts.slice([number, *[0] * len(shape)], [number + 1, *shape]).reshape(shape) for number in range(count)
    )
    return sum(others, first)
