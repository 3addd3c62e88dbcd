"""place-operands: what dots read goes to shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat, TensorType, f16
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.async_copies import async_copy
from irc.analysis.configs import config_of
from irc.analysis.im2col import channel_dim, im2col_access
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer, instruction_of, is_in_step, reads_shared
from irc.analysis.programs import ProgramPass
from irc.analysis.tma import box_access
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.targets import Target, target_of
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS, MatrixInstruction
from irc.layout_assignment.operand_layouts import k_major, matrix_major
from irc.scheduling.dead import erase_dead
from irc.scheduling.operand_sources import is_of_a_dot
from irc.scheduling.streamed_operands import is_loaded_at_once, is_streamed, separate, stays_in_registers, stream
from irc.support.diagnostics import IrcError

EXCHANGED_BYTES = 2
"""Of elements that threads which multiply hand to each other."""


@dataclass(frozen=True)
class PlaceOperandsPass(ProgramPass):
    """Operands of dots -> shared buffers. A load that TMA can make becomes a copy, where the kernel's instruction is
    wgmma, and a left operand that is computed from such loads is read from their copies and computed by the threads
    that multiply; where only such operands share a load, as halves of bytes do, each reads that copy. A load that
    threads can make asynchronously becomes a copy where the instruction is mma and there are several stages. Any other
    operand is computed in registers and written, transposed on the way where wgmma reads it along K only. Loads of the
    same elements, one the transpose of the other, share a buffer where either direction can be multiplied, and so does
    a permutation with what it permutes. The parts of a concatenation fill parts of one buffer. f8 is widened to f16,
    which is exact, for instructions that do not have it.
    """

    name: ClassVar[str] = "place-operands"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        _place_all(program, _way(program, target_of(program)))
        erase_dead(program)


def _way(program: tile.ProgramOp, machine: Target) -> str | None:
    """How operands are copied to shared memory without passing through registers, where they can be."""
    if has_producer(program):
        return "tma" if machine.has_tma else None
    return "cp_async" if is_in_step(program) and (config_of(program).stages or 1) > 1 else None


def _place_all(program: tile.ProgramOp, way: str | None) -> None:
    instruction, is_described = instruction_of(program), reads_shared(program)
    placed: dict[tuple[SSAValue, int | None], SSAValue] = {}
    dots = [op for op in program.walk() if isinstance(op, tile.DotOp)]
    if way == "tma":
        separate(dots)
    for dot in dots:
        for at in (0, 1):
            takes_registers = at == 0 and way == "tma" and instruction is not None and "registers" in instruction.lhs
            if takes_registers and is_streamed(dot):
                stream(dot)
                continue
            if takes_registers and (stays_in_registers(dot) or is_loaded_at_once(dot)):
                continue
            value = dot.operands[at]
            _check(dot, value, way)
            if isinstance(value.owner, tile.PermuteOp) and is_described and (value, None) not in placed:
                _turn(dot, value.owner, placed, way)
            major = k_major(value.type, at) if is_described else matrix_major(value.type, at)
            if (value, major) not in placed and way == "tma" and major is None:
                _share(dot, value, placed)
            if (value, major) not in placed:
                placed[value, major] = _place(dot, _widened(dot, value, instruction), way, major)
            dot.operands[at] = placed[value, major]


def _share(dot: tile.DotOp, value: SSAValue, placed: dict[tuple[SSAValue, int | None], SSAValue]) -> None:
    """Places an operand that is the transpose of a load of the same block that has its buffer."""
    twins = ((buffer, known) for (known, major), buffer in placed.items() if major is None)
    found = next((buffer for buffer, known in twins if _are_transposed(known.owner, value.owner)), None)
    if found is not None:
        type = tile.BufferType.of(shape_of(value.type), element_type_of(value.type))
        transpose = tile.TransposeOp(found, (1, 0), type, dot.location)
        transpose.result.name_hint = value.name_hint
        Rewriter.insert_op(transpose, InsertPoint.before(dot))
        placed[value, None] = transpose.result


def _are_transposed(a: Operation | Block, b: Operation | Block) -> bool:
    """Whether two loads that a copy can make read the same elements, rows of one as columns of the other."""
    if not isinstance(a, tile.LoadOp) or not isinstance(b, tile.LoadOp) or a.parent is not b.parent:
        return False
    if (a.view, *a.symbols) != (b.view, *b.symbols) or a.checked_dims != b.checked_dims:
        return False
    first, second = AffineExpr.dimension(0), AffineExpr.dimension(1)
    symbols = [AffineExpr.symbol(i) for i in range(len(b.symbols))]
    swapped = b.access_map.replace_dims_and_symbols([second, first], symbols, 2, len(symbols))
    is_swapped = tuple(a.offsets) == tuple(b.offsets)[::-1] and a.access_map == swapped
    return is_swapped and all(_via(load, shape_of(load.result.type), "tma", None) == "tma" for load in (a, b))


def _turn(
    dot: tile.DotOp, permute: tile.PermuteOp, placed: dict[tuple[SSAValue, int | None], SSAValue], way: str | None
) -> None:
    """Places what is permuted, where either direction can be multiplied: no element moves."""
    source, element = permute.source, element_of(element_type_of(permute.source.type))
    if element.size != EXCHANGED_BYTES:
        return
    if (source, None) not in placed:
        placed[source, None] = _place(dot, source, way, None)
    type = tile.BufferType.of(shape_of(permute.result.type), element_type_of(source.type))
    transpose = tile.TransposeOp(placed[source, None], permute.dim_values, type, dot.location)
    transpose.result.name_hint = permute.result.name_hint
    Rewriter.insert_op(transpose, InsertPoint.before(dot))
    placed[permute.result, None] = transpose.result


def _check(dot: tile.DotOp, value: SSAValue, way: str | None) -> None:
    """Raises where wgmma cannot take what threads that multiply hand to each other: it reads elements of 16 bits in
    either direction."""
    if way == "tma" and is_of_a_dot(value) and element_of(element_type_of(value.type)).size != EXCHANGED_BYTES:
        raise IrcError(
            "wgmma takes from what a dot or a loop gave only operands of 16-bit elements, found a "
            f"{'left' if value is dot.lhs else 'right'} operand of type {value.type}",
            dot.location,
            'instruction = "mma" in its #kernel.config',
        )


def _widened(dot: tile.DotOp, value: SSAValue, instruction: MatrixInstruction | None) -> SSAValue:
    """The operand as the instruction takes it: f16 in place of f8, by scalar multiply-adds where none is chosen."""
    element, row = element_type_of(value.type), instruction or MATRIX_INSTRUCTIONS["fma"]
    if not isinstance(value.type, TensorType) or not isinstance(element, AnyFloat) or element.bitwidth != 8:
        return value
    if row.takes(element_of(element).name).operand != "f16":
        return value
    block = Block(arg_types=[element])
    wide = arith.ExtFOp(block.args[0], f16)
    block.add_ops([wide, tile.YieldOp(wide.result)])
    for op in block.ops:
        op.location = dot.location
    map = tile.MapOp([value], TensorType(f16, shape_of(value.type)), Region(block), location=dot.location)
    map.result.name_hint = value.name_hint
    Rewriter.insert_op(map, InsertPoint.before(dot))
    return map.result


def _place(dot: tile.DotOp, value: SSAValue, way: str | None, major: int | None) -> SSAValue:
    """A buffer that holds the operand when the dot runs, contiguous along `major` where that is given."""
    if isinstance(value.type, tile.BufferType):
        return value
    alloc = tile.AllocOp(tile.BufferType.of(shape_of(value.type), element_type_of(value.type)))
    alloc.location = dot.location
    alloc.buffer.name_hint = value.name_hint
    loop, place = dot.parent_op(), _where(dot, value)
    Rewriter.insert_op(alloc, InsertPoint.before(loop if place is dot and isinstance(loop, scf.ForOp) else place))
    if way == "cp_async" and (place is not dot or _runs(value, major) not in ({0}, {1})):
        way = None
    _fill(place, value, alloc.buffer, way, major)
    return alloc.buffer


def _where(dot: tile.DotOp, value: SSAValue) -> Operation:
    """The op before which an operand's buffer is filled: the dot, or behind what gives the operand outside of the dot's
    loop."""
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is dot.parent:
        return dot
    following = owner.next_op
    assert following is not None
    return following


def _runs(value: SSAValue, major: int | None) -> set[int | None]:
    """The dimensions along which threads can copy runs of the parts of an operand asynchronously; None is among them
    where they cannot copy one so, or the instruction reads along another."""
    owner, shape = value.owner, shape_of(value.type)
    if isinstance(owner, tile.ConcatOp):
        return {inner for part in owner.inputs for inner in _runs(part, major)}
    copy = async_copy(owner, shape) if isinstance(owner, tile.LoadOp) and owner.other is None else None
    return {copy.inner if copy is not None and major in (None, copy.inner) else None}


def _fill(place: Operation, value: SSAValue, buffer: SSAValue, way: str | None, major: int | None) -> None:
    """Fills a buffer before the op `place`."""
    owner = value.owner
    if isinstance(owner, tile.ConcatOp):
        at = [0] * len(shape_of(value.type))
        for part in owner.inputs:
            shape = shape_of(part.type)
            view = tile.SubviewOp(buffer, at, tile.BufferType.of(shape, element_type_of(part.type)))
            view.location = owner.location
            Rewriter.insert_op(view, InsertPoint.before(place))
            _fill(place, part, view.result, way, major)
            at[owner.axis_value] += shape[owner.axis_value]
        return
    if way and isinstance(owner, tile.LoadOp) and (via := _via(owner, shape_of(value.type), way, major)) is not None:
        copy = tile.CopyOp.of(
            owner.view,
            owner.offsets,
            buffer,
            symbols=owner.symbols,
            map=owner.access_map,
            checked=owner.checked_dims,
            via=via,
            location=owner.location,
        )
        Rewriter.insert_op(copy, InsertPoint.before(place))
        return
    write = tile.WriteOp(value, buffer)
    write.location = place.location
    Rewriter.insert_op(write, InsertPoint.before(place))


def _via(load: tile.LoadOp, shape: tuple[int, ...], way: str, major: int | None) -> str | tile.Im2colAttr | None:
    """How a buffer is filled with what is loaded: by TMA as a box or as pixels of a window, which keep the direction
    that is contiguous. None where it has to be written."""
    if way != "tma":
        return way
    if load.other is not None:
        return None
    box = box_access(load, shape)
    if box is not None:
        return way if major in (None, box.inner) else None
    window = im2col_access(load, shape)
    return window if window is not None and major in (None, channel_dim(load, len(shape))) else None
