"""What a reduction does to two elements, as bodies of tile ops, and elementwise steps around it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, SSAValue

from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.tiling.map_body import Formula
from irc.tiling.nodes import Reduced
from irc.tiling.program import Shape
from irc.tiling.scalar_body import Body, Scalar
from irc.tiling.scalars import combine, first_extreme
from irc.tiling.stage import Stage


def part_count(node: Reduced) -> int:
    """Tiles that the reduction accumulates: argmax and argmin the index, too."""
    return 2 if node.is_position else 1


def index_type(node: Reduced) -> IntegerType:
    """What the indices of an argmax or argmin are kept in: 32 bits where they fit."""
    return i32 if node.dims[0].extent < 1 << 31 else i64


def last_index(node: Reduced) -> int:
    """The index of a masked element: after all others."""
    return (1 << index_type(node).width.data - 1) - 1


def neutral_of(node: Reduced, part: int) -> tuple[float | int, Attribute]:
    if part == 1:
        return last_index(node), index_type(node)
    source = node.input.source
    return neutral(node.monoid, element_of(source)), node.input.type


def combined(body: Body, node: Reduced, args: Sequence[SSAValue]) -> list[SSAValue]:
    """The combiner on (accumulated..., element...)."""
    monoid, source = node.monoid, node.input.source
    if not node.is_position:
        return [combine(body, monoid, source, args[0], args[1])]
    a, i, b, j = args
    test = first_extreme(body, monoid, (Scalar(a, source), i), (Scalar(b, source), j))
    return [body.select(test, b, a), body.select(test, j, i)]


def map_tiles(
    stage: Stage, node: Reduced, inputs: Sequence[SSAValue], shape: Shape, formula: Formula, like: int = 0
) -> SSAValue:
    """A tile of `shape` and of the element type of input number `like`."""
    return stage.map(inputs, tile.element_type_of(inputs[like].type), shape, formula, node.location)


def combine_tiles(
    stage: Stage, node: Reduced, accumulated: Sequence[SSAValue], values: Sequence[SSAValue], shape: Shape
) -> list[SSAValue]:
    """The combiner elementwise on tiles; a map for each of its results."""

    def part(which: int) -> SSAValue:
        inputs = [*accumulated, *values]
        return map_tiles(stage, node, inputs, shape, lambda body, args: combined(body, node, args)[which], which)

    return [part(which) for which in range(len(values))]
