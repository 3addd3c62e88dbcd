"""Maps of tiles, built from elementwise ops on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from irc.dialects import nd, tile
from irc.ir.rewriting import Inserter, give_location
from irc.tiling import scalars as tile_scalar
from irc.tiling.map_body import finish
from irc.tiling.nodes import signless
from irc.tiling.scalar_body import Body, Scalar, cast


def elementwise_map(
    root: Operation,
    type: TensorType[Attribute],
    at: Inserter,
    tile_of: Callable[[SSAValue], SSAValue],
    is_inlined: Callable[[SSAValue], bool],
) -> SSAValue:
    """A map of the op and of those that are a part of it, into a tile of `type`. tile_of: the tile of an operand."""
    result = root.results[0]
    block = Block()
    body = Body(block, root.location)
    inputs: list[SSAValue] = []
    arguments: dict[SSAValue, SSAValue] = {}
    scalars: dict[SSAValue, SSAValue] = {}

    def argument(value: SSAValue) -> SSAValue:
        if value not in arguments:
            arguments[value] = block.insert_arg(tile.element_type_of(value.type), len(inputs))
            inputs.append(value)
        return arguments[value]

    def scalar(value: SSAValue) -> SSAValue:
        if value not in scalars:
            scalars[value] = computed(value)
        return scalars[value]

    def computed(value: SSAValue) -> SSAValue:
        op = value.owner
        if (constant := splat_of(value)) is not None:
            return body.constant(constant, signless(tile.element_type_of(value.type)))
        if value is not result and not is_inlined(value):
            return argument(tile_of(value))
        assert isinstance(op, Operation)
        operands = [Scalar(scalar(each), tile.element_type_of(each.type)) for each in op.operands]
        body.location = op.location
        return tile_scalar.apply(body, op, operands, tile.element_type_of(value.type))

    value = scalar(result)
    finish(body, value)
    return at.value(tile.MapOp(inputs, type, Region(block)))


def splat_of(value: SSAValue) -> int | float | None:
    """The one number of an array, where it is a constant, through broadcasts."""
    op = value.owner
    while isinstance(op, nd.BroadcastOp | nd.ReshapeOp):
        op = op.x.owner
    return op.splat_value if isinstance(op, nd.ConstantOp) else None


def mapped(
    at: Inserter,
    inputs: Sequence[SSAValue],
    type: TensorType[Attribute],
    formula: Callable[[Body, Sequence[SSAValue]], SSAValue],
) -> SSAValue:
    """A map whose body is what a formula makes of its operands."""
    op = tile.MapOp(inputs, type)
    body = Body(op.body.block, at.location)
    finish(body, formula(body, list(op.body.block.args)))
    give_location(op, at.location)
    return at.value(op)


def counted(body: Body, index: SSAValue, type: Attribute) -> SSAValue:
    """An index as a number of a type."""
    return cast(body, Scalar(body(arith.IndexCastOp(index, i64)), i64), type)
