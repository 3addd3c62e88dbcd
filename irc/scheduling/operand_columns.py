"""What left operands that are computed in registers need beside arrays: columns, the same along K or along each step of
it, as scales of channels and of groups are."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AffineMapAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.index_values import multiple_of
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.rewriting import Inserter
from irc.layout.affine import slope_of


def group_of(load: tile.LoadOp) -> int | None:
    """The extent of groups of K whose elements read the same, where a step is inside of one; None of other loads."""
    depth = shape_of(load.result.type)[1]
    if load.other is not None or depth == 1 or load.gathers:
        return None
    found = {_group(expr) for expr in load.access_map.results if slope_of(expr, 1) != 0}
    group = found.pop() if len(found) == 1 else None
    start = multiple_of(load.offsets[1])
    return group if group and group % depth == 0 and start % depth == 0 else None


_PLACE = AffineDimExpr(1)
"""The place of an element along K."""


def _group(expr: AffineExpr) -> int | None:
    """`group` of the place divided by it, and of a sum of that and what is the same along K."""
    match expr:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, rhs=AffineConstantExpr(value=by)):
            return by if expr.lhs == _PLACE else None
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            terms = [term for term in (expr.lhs, expr.rhs) if slope_of(term, 1) != 0]
            return _group(terms[0]) if len(terms) == 1 else None
        case _:
            return None


def _by_number(expr: AffineExpr) -> AffineExpr:
    """An expression of such a place by the number of its group, which stands where the place did."""
    if slope_of(expr, 1) == 0:
        return expr
    assert isinstance(expr, AffineBinaryOpExpr)
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        return _PLACE
    return AffineBinaryOpExpr(expr.kind, _by_number(expr.lhs), _by_number(expr.rhs))


def make_columns(loop: scf.ForOp, ops: list[Operation]) -> None:
    """Of the ops that make an operand, in the order of the loop: loads that are the same along each step become loads
    of a column, and columns that are the same in every step are made before the loop."""
    for op in ops:
        if isinstance(op, tile.LoadOp) and (group := group_of(op)) is not None:
            _load_column(op, group)
        elif isinstance(op, tile.LoadOp) and _is_same(op, loop):
            _load_before(op, loop)
        elif isinstance(op, tile.MapOp) and not any(_is_inside(value, loop) for value in op.inputs):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(loop))


def _load_column(load: tile.LoadOp, group: int) -> None:
    """The number of the group in the place of that of the element along K."""
    at = Inserter.before(load)
    number = at.value(arith.DivUIOp(load.offsets[1], at.index(group)))
    load.operands[list(load.operands).index(load.view) + 2] = number
    map = load.access_map
    results = tuple(_by_number(expr) for expr in map.results)
    load.properties["map"] = AffineMapAttr(type(map)(map.num_dims, map.num_symbols, results))
    type_ = TensorType(element_type_of(load.result.type), (shape_of(load.result.type)[0], 1))
    Rewriter.replace_value_with_new_type(load.result, type_)


def _is_same(load: tile.LoadOp, loop: scf.ForOp) -> bool:
    """Whether the load reads the same in every step."""
    if shape_of(load.result.type)[1] != 1 or any(slope_of(expr, 1) != 0 for expr in load.access_map.results):
        return False
    return not any(_is_inside(value, loop) for value in (load.offsets[0], *load.symbols))


def _load_before(load: tile.LoadOp, loop: scf.ForOp) -> None:
    load.operands[list(load.operands).index(load.view) + 2] = loop.lb
    load.detach()
    Rewriter.insert_op(load, InsertPoint.before(loop))


def _is_inside(value: SSAValue, loop: scf.ForOp) -> bool:
    owner = value.owner
    return owner is loop.body.block or (isinstance(owner, Operation) and owner.parent is loop.body.block)
