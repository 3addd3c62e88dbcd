"""overlap-epilogue: what follows a product runs over panels of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.dtypes import element_of

ACCUMULATOR = 64
"""Elements of an accumulator per thread above which an epilogue is cut into panels."""
PANEL_BYTES = 32
"""Bytes of registers a thread that the tensors read by one panel may take."""


@dataclass(frozen=True)
class OverlapEpiloguePass(ModulePass):
    """The epilogue of a product with a large accumulator -> an unrolled loop over panels of columns.

    A panel's loads, registers and staging in shared memory are a fraction of the tile's, so that the epilogue fits beside the ring and
    the accumulator does not spill. The panel is `panel` columns of the config, or else the widest, up to 64, whose loads stay small.
    An epilogue with a reduction over columns, or one whose tiles do not follow the product's, is left alone.
    """

    name: ClassVar[str] = "overlap-epilogue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                for loop in [o for o in program.walk() if isinstance(o, tile.ForTilesOp)]:
                    _overlap(program, loop)


def _overlap(program: tile.ProgramOp, loop: tile.ForTilesOp) -> None:
    ops = list(loop.body.block.ops)
    products = [
        op
        for op in ops
        if isinstance(op, scf.ForOp) and any(isinstance(o, tile.DotOp) for o in op.body.block.ops)
    ]
    if not products or not any(isinstance(op, tile.StoreOp) for op in ops):
        return
    last = ops.index(products[-1])
    rows, columns = _extents(products[-1])
    epilogue = [op for op in ops[last + 1 :] if not op.name.startswith("arith.")]
    scalars = [op for op in ops[last + 1 :] if op.name.startswith("arith.")]
    config: Any = program.config
    threads = 32 * ((config.warps if config is not None else None) or 8)
    if rows * columns // threads < ACCUMULATOR or not all(_follows(op, columns) for op in epilogue):
        return
    width: int = (config.panel if config is not None else None) or _width(epilogue, rows, columns, threads)
    if width >= columns or columns % width:
        return
    for op in scalars:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(products[-1]))
    _build(epilogue, columns, width)


def _extents(product: scf.ForOp) -> tuple[int, int]:
    """Rows and columns of the output tile: those of the slices of a merged accumulator, where there are slices."""
    result = next(r for r in product.results if isinstance(r.type, TensorType))
    for use in result.uses:
        if isinstance(use.operation, tile.SliceOp):
            result = use.operation.result
            break
    rows, columns = shape_of(result.type)
    return rows, columns


def _follows(op: Operation, columns: int) -> bool:
    """Whether an epilogue op works on each column by itself."""
    if isinstance(op, tile.ReduceOp):
        return 1 not in op.axis_values
    if not isinstance(op, tile.SliceOp | tile.LoadOp | tile.StoreOp | tile.MapOp | tile.IotaOp | tile.SplatOp):
        return False
    tiles = [v for v in (*op.results, *op.operands) if isinstance(v.type, TensorType)]
    if isinstance(op, tile.SliceOp):
        tiles = [op.result]
    return all(len(shape_of(v.type)) == 2 and shape_of(v.type)[1] in (1, columns) for v in tiles)


def _width(epilogue: list[Operation], rows: int, columns: int, threads: int) -> int:
    """The widest panel of at most 64 columns whose full-size loads take no more than a few registers of a thread."""
    size = sum(
        element_of(op.view_type.element_type).size
        for op in epilogue
        if isinstance(op, tile.LoadOp) and shape_of(op.result.type) == (rows, columns)
    )
    width = min(64, columns // 2)
    while width > 16 and rows * width // threads * size > 4 * PANEL_BYTES:
        width //= 2
    return width


def _build(epilogue: list[Operation], columns: int, width: int) -> None:
    anchor = epilogue[0]
    location = anchor.location
    start, stop, step = (arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, columns, width))
    body = Block(arg_types=[IndexType()])
    column = body.args[0]
    column.name_hint = "column"
    panels = scf.ForOp(start, stop, step, [], Region(body))
    panels.attributes["unroll"] = UnitAttr()
    for op in (start, stop, step, panels):
        op.location = location
    Rewriter.insert_op([start, stop, step, panels], InsertPoint.before(anchor))
    mapping: dict[SSAValue, SSAValue] = {}
    for op in epilogue:
        for new in _narrow(op, mapping, column, columns, width):
            new.location = op.location
            body.add_op(new)
    end = scf.YieldOp()
    end.location = location
    body.add_op(end)
    for op in reversed(epilogue):
        Rewriter.erase_op(op, safe_erase=False)


def _narrow(
    op: Operation, mapping: dict[SSAValue, SSAValue], column: SSAValue, columns: int, width: int
) -> list[Operation]:
    """The op on one panel."""
    if isinstance(op, tile.SliceOp):
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        zero.location = op.location
        part = tile.SliceOp(op.source, op.at_values, _panel(op.result.type, columns, width), [zero.result, column])
        mapping[op.result] = part.result
        return [zero, part]
    before: list[Operation] = []
    for value in op.operands:
        if isinstance(value.type, TensorType) and value not in mapping:
            before += _slice(value, mapping, column, columns, width)
    clone = op.clone(mapping)
    for old, new in zip(op.results, clone.results, strict=True):
        mapping[old] = Rewriter.replace_value_with_new_type(new, _panel(new.type, columns, width))
    if isinstance(op, tile.AccessOp) and any(shape_of(t)[1] == columns for t in _tile_types(op)):
        before.append(_move(clone, len(clone.operands), column, _offset_index(clone)))
    if isinstance(op, tile.IotaOp) and op.axis_value == 1:
        before.append(_move(clone, 1, column, 0))
    return [*before, clone]


def _tile_types(op: tile.AccessOp) -> list[Attribute]:
    values = [*op.results] if isinstance(op, tile.LoadOp) else [v for v in op.operands if isinstance(v.type, TensorType)]
    return [v.type for v in values]


def _slice(
    value: SSAValue, mapping: dict[SSAValue, SSAValue], column: SSAValue, columns: int, width: int
) -> list[Operation]:
    """The panel of a tile made before the epilogue: the accumulator."""
    if shape_of(value.type)[1] != columns:
        mapping[value] = value
        return []
    zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
    part = tile.SliceOp(value, [0, 0], _panel(value.type, columns, width), [zero.result, column])
    for op in (zero, part):
        op.location = value.owner.location if isinstance(value.owner, Operation) else op.location
    mapping[value] = part.result
    return [zero, part]


def _panel(type: Attribute, columns: int, width: int) -> TensorType[Attribute]:
    rows, extent = shape_of(type)
    return TensorType(element_type_of(type), [rows, width if extent == columns else extent])


def _offset_index(op: Operation) -> int:
    """The operand of an access that is its offset along columns."""
    assert isinstance(op, tile.AccessOp)
    return list(op.operands).index(op.offsets[1], 1) if op.offsets[0] is op.offsets[1] else list(op.operands).index(
        op.offsets[1]
    )


def _move(op: Operation, count: int, column: SSAValue, at: int) -> Operation:
    """Shifts an offset operand to the panel."""
    shifted = arith.AddiOp(op.operands[at], column)
    shifted.location = op.location
    op.operands[at] = shifted.result
    return shifted
