"""Layouts of the shared buffers that a dot reads: what TMA or threads write and its instruction reads without bank
conflicts."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from irc.diagnostics import IrcError
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.dtypes import element_of
from irc.layout.cute import Layout, compact_strides
from irc.layout.exchange import exchange
from irc.layout.fragment import Fragment
from irc.layout.instructions import ATOMS, Atom, mma_operand, warp_grid
from irc.layout.shared import SharedLayout, Swizzle, panels, plain
from irc.passes.tile.attributes import fragment_layout
from irc.passes.tile.rings import fills_of, root_of
from irc.passes.tile.tma import SWIZZLE_BYTES, box_access

_INSTRUCTIONS = {"bf16": "m16n8k16", "f16": "m16n8k16", "i8": "m16n8k32", "f64": "m8n8k4"}
"""mma.sync by the type of the operands; f32 has none that is accurate to f32."""


SMALLEST_SWIZZLE = 32
"""Bytes of the narrowest swizzle pattern (PTX ISA, 5.5.6)."""


def mma_atom(dot: tile.DotOp) -> Atom:
    element = element_of(element_type_of(dot.lhs.type)).name
    if element not in _INSTRUCTIONS:
        raise IrcError(
            f"mma takes operands of {', '.join(_INSTRUCTIONS)}, found {element}", dot.location, 'instruction = "fma"'
        )
    return ATOMS[_INSTRUCTIONS[element]]


def warp_split(atom: Atom, shape: tuple[int, int], warps: int) -> tuple[int, int]:
    """Warps along M and along N: of the splits that divide the tile, the one whose warps read the fewest operands."""
    splits = [
        (m, warps // m)
        for m in (1 << i for i in range(warps.bit_length()))
        if warps % m == 0 and shape[0] % (atom.m * m) == 0 and shape[1] % (atom.n * (warps // m)) == 0
    ]
    if not splits:
        raise IrcError(f"a tile of {shape[0]} x {shape[1]} cannot be split over {warps} warps of {atom.name}")
    return min(splits, key=lambda s: shape[0] // s[0] + shape[1] // s[1])


def assign_buffers(program: tile.ProgramOp) -> None:
    """Gives the operand buffers of every dot, and the buffers that TMA stores, their layouts. Fragments are known."""
    for op in list(program.walk()):
        if isinstance(op, tile.StoreOp) and isinstance(op.tile.type, tile.BufferType):
            _retype(root_of(op.tile), _stored_layout(op.tile))
        if isinstance(op, tile.DotOp):
            for operand, k_dim in ((op.lhs, 1), (op.rhs, 0)):
                layout = _wgmma_layout(operand, k_dim) if _is(op, "wgmma") else _exchange(op, operand, k_dim)
                _retype(operand, layout)


def _is(dot: tile.DotOp, instruction: str) -> bool:
    return dot.instruction is not None and dot.instruction.data == instruction


def k_major(type: Attribute, operand: int) -> int | None:
    """The dimension along which wgmma's operand number `operand` has to be contiguous: K, or either (None) where its
    elements have 16 bits (PTX ISA, 9.7.15.5.1)."""
    return None if element_of(element_type_of(type)).size == 2 else 1 - operand


def written_major(buffer: SSAValue) -> int | None:
    """As `k_major`, for a buffer or a part of one that some wgmma reads."""
    while isinstance(buffer.owner, tile.SubviewOp):
        buffer = buffer.owner.buffer
    for use in buffer.uses:
        if isinstance(use.operation, tile.DotOp) and _is(use.operation, "wgmma"):
            return k_major(buffer.type, use.index)
    return None


def _wgmma_layout(buffer: SSAValue, k_dim: int) -> SharedLayout:
    """Panels of the swizzle's 128 bytes along the dimension that is contiguous in what fills the buffer; narrower ones
    where the parts that fill it are."""
    size = element_of(element_type_of(buffer.type)).size
    major = k_major(buffer.type, 1 - k_dim)
    directions: set[int] = set()
    parts: list[tuple[int, ...]] = []
    for fill in fills_of(buffer):
        if isinstance(fill, tile.CopyOp):
            parts.append(shape_of(fill.buffer.type))
            box = box_access(fill, parts[-1])
            assert box is not None
            directions.add(box.inner)
        else:
            parts.append(shape_of(fill.tile.type))
            directions.add(fragment_layout(fill.tile.type).vector[0] if major is None else major)
    if len(directions) != 1:
        raise IrcError("the parts of a dot's operand are contiguous along different dimensions")
    (inner,) = directions
    shape = shape_of(buffer.type)
    width = min(SWIZZLE_BYTES // size, *(part[inner] for part in parts))
    if width * size < SMALLEST_SWIZZLE:
        raise IrcError(
            f"wgmma reads rows of {SMALLEST_SWIZZLE} bytes or more, a {shape[0]} x {shape[1]} tile has {width * size}",
            fills_of(buffer)[0].location,
            "a larger tile in its #kernel.config",
        )
    return _panels(shape, inner, width, size)


def _stored_layout(buffer: SSAValue) -> SharedLayout:
    """Rows of the widest swizzle that fits into the part that is stored at a time."""
    size = element_of(element_type_of(buffer.type)).size
    width = min(SWIZZLE_BYTES // size, shape_of(buffer.type)[1])
    return _panels(shape_of(root_of(buffer).type), 1, width, size)


def _panels(shape: tuple[int, ...], inner: int, width: int, size: int) -> SharedLayout:
    """Panels of `width` elements of `size` bytes, each with the hardware's swizzle for that many bytes."""
    base = (16 // size).bit_length() - 1
    bits = (width * size // 16).bit_length() - 1
    return panels(shape, inner, width, Swizzle(bits, base, 3))


def _exchange(dot: tile.DotOp, buffer: SSAValue, k_dim: int) -> SharedLayout:
    """The layout between the threads that write an operand and those that multiply with it."""
    acc = fragment_layout(dot.acc.type)
    shape = shape_of(buffer.type)
    if _is(dot, "mma"):
        atom = mma_atom(dot)
        warps = warp_grid(acc)
        reader = mma_operand(atom, "a" if k_dim == 1 else "b", shape[1 - k_dim], warps)
    else:
        reader = acc.project([k_dim])
    fills = fills_of(buffer)
    if len(fills) != 1 or not isinstance(fills[0], tile.WriteOp):
        return plain(shape, [reader.vector[0], 1 - reader.vector[0]])
    writer: Fragment = fragment_layout(fills[0].tile.type)
    return exchange(writer, reader, element_of(element_type_of(buffer.type)).size).layout


def _retype(buffer: SSAValue, layout: SharedLayout) -> None:
    if not isinstance(buffer.type, tile.BufferType):
        raise IrcError("a dot's operand is not in shared memory", hint="run place-operands before assign-layouts")
    shape = shape_of(buffer.type)
    type = tile.BufferType.of(shape, buffer.type.element_type, tile.SharedAttr(layout))
    replaced = Rewriter.replace_value_with_new_type(buffer, type)
    for use in list(replaced.uses):
        if isinstance(use.operation, tile.SubviewOp):
            _retype(use.operation.result, _part(layout, shape_of(use.operation.result.type)))


def _part(layout: SharedLayout, shape: tuple[int, ...]) -> SharedLayout:
    """The layout of a box of the buffer: fewer of the outermost of each dimension's modes."""
    return layout.compose(Layout(shape, compact_strides(layout.shape)))
