"""Code of the positions of tiles: expressions of the offsets of loops, and the numbers of a tile's elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr, TensorType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr, AffineSymExpr

from irc.dialects import tile

_SCALARS: dict[AffineBinaryOpKind, Callable[[SSAValue, SSAValue], Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.DivSIOp,
    AffineBinaryOpKind.Mod: arith.RemSIOp,
}


def index_code(
    expr: AffineExpr,
    symbol: Callable[[int], SSAValue],
    constant: Callable[[int], SSAValue],
    add: Callable[[Operation], SSAValue],
) -> SSAValue:
    """The `index` that an expression of symbols is, of ops that `add` inserts."""
    match expr:
        case AffineConstantExpr():
            return constant(expr.value)
        case AffineSymExpr():
            return symbol(expr.position)
        case AffineBinaryOpExpr():
            lhs, rhs = (index_code(each, symbol, constant, add) for each in (expr.lhs, expr.rhs))
            return add(_SCALARS[expr.kind](lhs, rhs))
        case _:
            raise AssertionError(expr)


def counted(value: SSAValue, shape: Sequence[int], location: LocationAttr) -> tile.MapOp:
    """A tile of `index` as i32."""
    made = tile.MapOp([value], TensorType(i32, shape), location=location)
    body = made.body.block
    cast = arith.IndexCastOp(body.args[0], i32)
    for op in (cast, tile.YieldOp(cast.result)):
        op.location = location
        body.add_op(op)
    return made
