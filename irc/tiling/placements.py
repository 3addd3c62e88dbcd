"""Where the axes of an array of a tile program are among the dimensions of its tile.

All tiles of a program have as many dimensions as its array of the most axes. An array of fewer has extent 1 in the
others, and which these are comes from whom it meets: the rows' maxima of a matrix are a column of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.op_classes import is_elementwise, is_reduction, is_scan
from irc.dialects import nd, tile
from irc.dialects.nd.base import ints
from irc.dialects.nd.reduce import MonoidOp
from irc.dialects.nd.shape import kept_axes
from irc.ir.blocks import end_of

Placement: TypeAlias = tuple[int, ...]
"""The dimension of the tile that each axis of the array is."""

Axes: TypeAlias = tuple[int | None, ...]
"""The axis of another array that each axis of one is; None where the other has none."""


def rank_of(value: SSAValue) -> int:
    return len(tile.shape_of(value.type)) if isinstance(value.type, TensorType) else 0


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return tile.shape_of(value.type)


class Placements:
    """The placements of the arrays of a program whose tiles have `rank` dimensions."""

    def __init__(self, rank: int):
        self.rank = rank
        self._known: dict[SSAValue, Placement] = {}

    def __call__(self, value: SSAValue) -> Placement:
        """That of an array: as the nearest array of all dimensions that it meets has its axes, else the first ones."""
        if value not in self._known:
            self._known[value] = self._found(value)
        return self._known[value]

    def give(self, value: SSAValue, axes: Placement) -> None:
        """Says where the axes of an array are."""
        self._known[value] = axes

    def _found(self, value: SSAValue) -> Placement:
        rank = rank_of(value)
        if rank == self.rank:
            return tuple(range(rank))
        seen: set[SSAValue] = {value}
        found: list[tuple[SSAValue, tuple[int, ...]]] = [(value, tuple(range(rank)))]
        for at, axes in found:
            for neighbor, theirs in neighbors(at):
                placed = tuple(theirs[axis] for axis in axes)
                if neighbor in seen or any(axis is None for axis in placed):
                    continue
                known = tuple(axis for axis in placed if axis is not None)
                if rank_of(neighbor) == self.rank:
                    return known
                seen.add(neighbor)
                found.append((neighbor, known))
        return tuple(range(rank))


def neighbors(value: SSAValue) -> Iterator[tuple[SSAValue, Axes]]:
    """The arrays that an array meets in one op, and which of their axes its own are."""
    if isinstance(value, BlockArgument):
        yield from _around(value)
    elif isinstance(value.owner, Operation):
        yield from _through(value.owner, value)
    for use in value.uses:
        yield from _through(use.operation, value)


def _through(op: Operation, value: SSAValue) -> Iterator[tuple[SSAValue, Axes]]:
    same: Axes = tuple(range(rank_of(value)))
    if isinstance(op, scf.ForOp | scf.YieldOp):
        yield from _of_loop(op, value)
    elif is_scan(op):
        yield (op.results[0] if value is op.operands[0] else op.operands[0]), same
    elif isinstance(op, nd.BroadcastOp | nd.PermuteOp | nd.ReshapeOp) or is_reduction(op):
        operand, result = op.operands[0], op.results[0]
        axes = result_axes(op)
        yield (result, axes) if value is operand else (operand, _inverse(axes, rank_of(result)))
    elif is_elementwise(op):
        for other in (*op.operands, *op.results):
            if other is not value and rank_of(other) == len(same):
                yield other, same


def result_axes(op: Operation) -> Axes:
    """The axis of the result that each axis of the operand becomes."""
    match op:
        case nd.BroadcastOp():
            return ints(op.dims)
        case nd.PermuteOp():
            return _inverse(ints(op.permutation), rank_of(op.x))
        case nd.ReshapeOp():
            return reshaped_axes(shape_of(op.x), shape_of(op.result)) or (None,) * rank_of(op.x)
        case MonoidOp():
            kept = [axis for axis in range(rank_of(op.operands[0])) if axis not in op.joined_axes]
            return tuple(kept.index(axis) if axis in kept else None for axis in range(rank_of(op.operands[0])))
        case _:
            return ()


def reshaped_axes(shape: tuple[int, ...], result: tuple[int, ...]) -> Axes | None:
    """The axes that those of more than one element become, where a reshape adds and removes others alone; else None."""
    becomes = kept_axes(shape, result)
    return None if becomes is None else tuple(becomes.get(axis) for axis in range(len(shape)))


def _inverse(axes: Axes, rank: int) -> Axes:
    return tuple(axes.index(axis) if axis in axes else None for axis in range(rank))


def _around(argument: BlockArgument) -> Iterator[tuple[SSAValue, Axes]]:
    loop = argument.owner.parent_op()
    if isinstance(loop, scf.ForOp) and argument.index > 0:
        yield from _linked(loop, argument.index - 1, argument)


def _of_loop(op: Operation, value: SSAValue) -> Iterator[tuple[SSAValue, Axes]]:
    loop = op if isinstance(op, scf.ForOp) else op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return
    carried = loop.iter_args if op is loop else op.operands
    if value in loop.results and op is loop:
        carried = loop.results
    for number, each in enumerate(carried):
        if each is value:
            yield from _linked(loop, number, value)


def _linked(loop: scf.ForOp, number: int, value: SSAValue) -> Iterator[tuple[SSAValue, Axes]]:
    """What else stands for a value that a loop carries."""
    same = tuple(range(rank_of(value)))
    for other in (
        loop.iter_args[number],
        loop.body.block.args[number + 1],
        end_of(loop.body.block).operands[number],
        loop.results[number],
    ):
        if other is not value:
            yield other, same
