"""overlap-epilogue: what follows a product runs over subtiles of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeGuard

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.budgets import EPILOGUE_BYTES, EXCHANGE_BYTES, LOAD_STAGES, SUBTILE_COLUMNS
from irc.analysis.configs import compute_warps, config_of, consumer_partitions
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import instruction_of
from irc.analysis.programs import ProgramPass
from irc.analysis.tma import is_swizzled_load
from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.ir.blocks import block_of
from irc.ir.dtypes import element_of
from irc.ir.walks import depending_on, users_of
from irc.layout.instructions import ATOMS, LANES
from irc.layout_assignment.operand_layouts import SMALLEST_SWIZZLE
from irc.scheduling.channels import tile_bytes
from irc.scheduling.subtiles import Carried, assemble, build, neutral_of, roll

ACCUMULATOR = 64
"""Elements of an accumulator per thread from which on an epilogue is cut into subtiles, as it is where a stored tile
has more bytes than are left beside the channel."""
SUBTILE_BYTES = 128
"""Bytes of a row of a subtile: a row of the widest swizzle."""
MAX_UNROLLED = 8192
"""Scalar ops of a thread in an epilogue above which its subtiles are not unrolled: their code would not stay in the
caches of instructions."""
MAX_TOGETHER = 2048
"""Machine instructions of a thread for subtiles that are in one iteration then: they move the accumulator on together.
More made no kernel faster on an H200 (gated_unit_step takes 256.0 us with 2 subtiles as with 4), and compile longer."""
FUNCTION = 12
"""Machine instructions of a function like tanh, in those of an operation."""
SUBTILE_REGISTERS = 48
"""Registers of a thread that the tensors read by one subtile may take."""
PART = 8
"""Columns that a reduction over them carries from subtile to subtile: those of which lanes side by side have a pair
each (PTX ISA, 9.7.15.5.1, the accumulator of wgmma)."""


@dataclass(frozen=True)
class OverlapEpiloguePass(ProgramPass):
    """The epilogue of a product with a large accumulator, or a large result -> an unrolled loop over subtiles of
    columns.

    A subtile's loads, registers and staging in shared memory are a fraction of the tile's, so that the epilogue fits
    beside the channel and the accumulator does not spill. The subtile is `subtile` columns of the config, or else the
    widest, up to 64 and to 128 bytes, whose loads stay small. A reduction over columns is carried from subtile to
    subtile, by wgmma as a few columns that subtiles are folded into, so that threads meet once behind the loop; where
    columns are read again behind it, what no such reduction needs has subtiles, and the rest has none, but arrays that
    TMA can bring are loaded by subtiles. The loop of a long epilogue is not unrolled: it carries the accumulator, which
    moves on by a few subtiles. An epilogue whose tiles do not follow the product's is left alone.
    """

    name: ClassVar[str] = "overlap-epilogue"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [o for o in program.walk() if isinstance(o, tile.ForTilesOp)]:
            _overlap(program, loop)


def _overlap(program: tile.ProgramOp, loop: tile.ForTilesOp) -> None:
    ops = list(loop.body.block.ops)
    products = [
        op for op in ops if isinstance(op, scf.ForOp) and any(isinstance(o, tile.DotOp) for o in op.body.block.ops)
    ]
    if not products or not any(isinstance(op, tile.StoreOp) for op in ops):
        return
    following = ops[ops.index(products[-1]) + 1 :]
    scalars = [op for op in following if op.name.startswith("arith.")]
    epilogue = [op for op in following if not op.name.startswith("arith.")]
    rows, columns = _extents(products[-1])
    threads = LANES * compute_warps(program)
    staged = max(tile_bytes(op.tile) for op in ops if isinstance(op, tile.StoreOp))
    if rows * columns // threads < ACCUMULATOR and staged <= EPILOGUE_BYTES:
        return
    carried = [op for op in epilogue if isinstance(op, tile.ReduceOp) and 1 in op.axis_values]
    after = set(depending_on(carried, epilogue))
    subtiled = [op for op in epilogue if op not in after]
    arriving: list[tile.LoadOp] = []
    if any(_is_wide(op) for op in after):
        subtiled, carried = _put_last(epilogue, carried), []
        arriving = [op for op in epilogue if op not in subtiled and _arrives(op, columns)]
    if not subtiled or not all(_follows(op, columns) for op in subtiled):
        return
    if any(neutral_of(op) is None for op in carried):
        return
    width = config_of(program).subtile or max(_least_width(program, rows), _width(subtiled, rows, columns, threads))
    if width >= columns or columns % width:
        return
    for op in scalars:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(products[-1]))
    for load in arriving if consumer_partitions(program) == 1 else []:
        assemble(load, _arriving_width(load, config_of(program).load_stages or LOAD_STAGES))
    part = PART if width % PART == 0 and _keeps_columns(program) else None
    subtiles = build(subtiled, [Carried(op, part) for op in carried], columns, width)
    elements, count = rows * columns // threads, columns // width
    if elements * _written(subtiles) > MAX_UNROLLED:
        together = elements * _computed(subtiles) // count
        fit = [n for n in range(1, count) if count % n == 0 and n * together <= MAX_TOGETHER]
        roll(subtiles, columns, width, max(fit, default=1))


def _keeps_columns(program: tile.ProgramOp) -> bool:
    """Whether every thread holds elements of each few columns of its accumulator's rows, as those of instructions do
    whose warps lie along rows alone."""
    instruction = instruction_of(program)
    return instruction is not None and not instruction.splits_columns and not config_of(program).swap_ab


def _put_last(epilogue: list[Operation], reductions: list[tile.ReduceOp]) -> list[Operation]:
    """Moves what no reduction needs behind the rest, and what of it is wide behind what has one element for each row.
    Gives what is wide."""
    needed: set[Operation] = set(reductions)
    for op in reversed(epilogue):
        if not needed.isdisjoint(users_of(op)):
            needed.add(op)
    rest = [op for op in epilogue if op not in needed]
    wide = [op for op in rest if _is_wide(op)]
    block = block_of(epilogue[0])
    for op in [*(op for op in rest if op not in wide), *wide]:
        op.detach()
        block.add_op(op)
    return wide


def _arrives(op: Operation, columns: int) -> TypeGuard[tile.LoadOp]:
    """Whether the op loads an array of whole rows that TMA can bring."""
    return (
        isinstance(op, tile.LoadOp) and is_swizzled_load(op, SUBTILE_BYTES) and shape_of(op.result.type)[1] == columns
    )


def _arriving_width(load: tile.LoadOp, stages: int) -> int:
    """Columns of the subtiles in which such an array comes: the widest of which a few stages fit beside the channel."""
    rows, columns = shape_of(load.result.type)
    size = element_of(load.view_type.element_type).size
    width = min(SUBTILE_BYTES // size, columns & -columns)
    while width * size > SMALLEST_SWIZZLE and stages * rows * width * size > EXCHANGE_BYTES:
        width //= 2
    return width


def _written(subtiles: scf.ForOp) -> int:
    """The scalar ops for an element, as they are in the maps of a subtile."""
    return sum(len(op.body.block.ops) for op in subtiles.body.block.ops if isinstance(op, tile.MapOp))


def _computed(subtiles: scf.ForOp) -> int:
    """The machine instructions for an element, about: what several maps compute is computed once."""
    numbers: dict[object, int] = {}
    known: dict[SSAValue, int] = {}

    def number(value: SSAValue) -> int:
        return known.setdefault(value, numbers.setdefault(value, len(numbers)))

    count = 0
    for each in subtiles.body.block.ops:
        if not isinstance(each, tile.MapOp):
            continue
        known.update((inner, number(outer)) for inner, outer in zip(each.body.block.args, each.operands, strict=True))
        for op in each.body.block.ops:
            if isinstance(op, tile.YieldOp):
                known.update((outer, number(inner)) for outer, inner in zip(each.results, op.operands, strict=True))
                continue
            key = (op.name, *map(str, op.properties.items()), *map(number, op.operands))
            if key not in numbers and not isinstance(op, arith.ConstantOp):
                count += FUNCTION if op.name.startswith("math.") else 1
            known[op.results[0]] = numbers.setdefault(key, len(numbers))
    return count


def _extents(product: scf.ForOp) -> tuple[int, int]:
    """Rows and columns of the output tile: those of the slices of a merged accumulator, where there are slices."""
    result = next(r for r in product.results if isinstance(r.type, TensorType))
    for use in result.uses:
        if isinstance(use.operation, tile.SliceOp):
            result = use.operation.result
            break
    rows, columns = shape_of(result.type)
    return rows, columns


def _tiles(op: Operation) -> list[Attribute]:
    values = op.results if isinstance(op, tile.SliceOp) else (*op.results, *op.operands)
    return [v.type for v in values if isinstance(v.type, TensorType)]


def _is_wide(op: Operation) -> bool:
    return any(shape_of(type)[1] != 1 for type in _tiles(op))


def _follows(op: Operation, columns: int) -> bool:
    """Whether an epilogue op works on each column by itself, or reduces over columns."""
    allowed = tile.SliceOp | tile.LoadOp | tile.StoreOp | tile.MapOp | tile.IotaOp | tile.SplatOp | tile.ReduceOp
    return isinstance(op, allowed) and all(
        len(shape_of(type)) == 2 and shape_of(type)[1] in (1, columns) for type in _tiles(op)
    )


def _least_width(program: tile.ProgramOp, rows: int) -> int:
    """Columns of the narrowest subtile: warps that lie side by side have whole instructions of each."""
    instruction = instruction_of(program)
    if instruction is None or instruction.threads != LANES:
        return 1
    atom, warps = ATOMS["m16n8k16"], compute_warps(program)
    tall = max((m for m in range(1, warps + 1) if warps % m == 0 and rows % (atom.m * m) == 0), default=1)
    return atom.n * (warps // tall)


def _width(epilogue: list[Operation], rows: int, columns: int, threads: int) -> int:
    """The widest subtile, a power of two, of at most 64 columns, and 128 bytes of any result, whose full-size loads
    take no more than a few registers of a thread."""
    size = sum(
        element_of(op.view_type.element_type).size
        for op in epilogue
        if isinstance(op, tile.LoadOp) and shape_of(op.result.type) == (rows, columns)
    )
    stored = [element_of(op.view_type.element_type).size for op in epilogue if isinstance(op, tile.StoreOp)]
    width = min(SUBTILE_COLUMNS, columns // 2, SUBTILE_BYTES // max(stored, default=1), columns & -columns)
    while width > 16 and rows * width // threads * size > 4 * SUBTILE_REGISTERS:
        width //= 2
    return width
