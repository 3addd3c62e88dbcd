"""Layouts of the shared buffers that a dot reads: what TMA or threads write and its instruction reads without bank
conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.async_copies import async_copy, copy_fragment
from irc.analysis.im2col import channel_dim
from irc.analysis.matrix_instructions import reads_shared
from irc.analysis.tma import SWIZZLE_BYTES, box_access
from irc.dialects import tile
from irc.dialects.tile import element_type_of, fragment_layout, shape_of
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.layout.cute import Layout, compact_strides
from irc.layout.exchange import exchange
from irc.layout.fragment import Fragment
from irc.layout.instructions import (
    ATOMS,
    MATRIX,
    MMA_OPERANDS,
    Atom,
    atoms_of,
    matrix_rows,
    mma_operand,
    warp_grid,
)
from irc.layout.shared import IDENTITY, SMALLEST_SWIZZLE, SharedLayout, Swizzle, panels, plain
from irc.scheduling.channels import fills_of, root_of
from irc.support.diagnostics import IrcError

MATRIX_BYTES = 2
"""The widest elements of operands that ldmatrix loads."""


def choose_atom(dots: Sequence[tile.DotOp], machine: Target, shape: Sequence[int] | None = None) -> Atom:
    """The mma of a shape, or the fastest one that the machine has, of those of which dots on one accumulator, in
    all their parts along K, are multiples; else the last."""
    element = element_of(element_type_of(dots[0].lhs.type)).name
    if element not in MMA_OPERANDS:
        found = f"mma takes operands of {', '.join(MMA_OPERANDS)}, found {element}"
        raise IrcError(found, dots[0].location, 'instruction = "fma"')
    sums = element_of(element_type_of(dots[0].acc.type)).name
    if not (atoms := atoms_of(element, sums)):
        raise IrcError(f"mma adds up no products of {element} in {sums}", dots[0].location, 'instruction = "fma"')
    fitting = [atom for atom in atoms if _has(machine, element, atom) and all(_divides(atom, dot) for dot in dots)]
    if shape is not None:
        fitting = [atom for atom in fitting if (atom.m, atom.n, atom.k) == tuple(shape)]
    return fitting[0] if fitting else atoms[-1]


def _has(machine: Target, element: str, atom: Atom) -> bool:
    return (atom.m, atom.n, atom.k) in machine.mma.get("tf32" if element == "f32" else element, ())


def _divides(atom: Atom, dot: tile.DotOp) -> bool:
    parts = 1 if dot.parts is None else dot.parts.value.data
    units = (atom.m, atom.n, atom.k * parts)
    return not any(extent % unit for extent, unit in zip(dot.mnk, units, strict=True))


def mma_atom(dot: tile.DotOp) -> Atom:
    """The one that `assign-layouts` chose."""
    assert dot.atom is not None
    return ATOMS[dot.atom.data]


def assign_buffers(program: tile.ProgramOp) -> None:
    """Gives the operand buffers of every dot, and the buffers that TMA stores, their layouts. Fragments are known."""
    for op in list(program.walk()):
        if isinstance(op, tile.StoreOp) and isinstance(op.tile.type, tile.BufferType):
            _retype(root_of(op.tile), _stored_layout(op.tile))
        if isinstance(op, tile.ReadOp):
            _give(op.buffer, lambda buffer: _filled_layout(buffer, None))
        if isinstance(op, tile.DotOp):
            for operand in (0, 1):
                _place(op, operand)


def _place(dot: tile.DotOp, operand: int) -> None:
    """Gives a dot's operand its layout; wgmma takes the left one in registers too."""
    buffer = dot.operands[operand]
    if reads_shared(dot) and operand == 0 and isinstance(buffer.type, TensorType):
        return
    if reads_shared(dot):
        _give(buffer, lambda root: _filled_layout(root, k_major(root.type, operand)))
    else:
        _give(buffer, lambda root: _exchange(dot, root, 1 - operand))


def _give(buffer: SSAValue, layout: Callable[[SSAValue], SharedLayout]) -> None:
    """Gives the whole buffer, of which this may be a part, its layout, where it has none yet."""
    root = root_of(buffer)
    if not isinstance(root.type, tile.BufferType):
        raise IrcError("a dot's operand is not in shared memory", hint="run place-operands before assign-layouts")
    if root.type.shared_layout is None:
        _retype(root, layout(root))


def k_major(type: Attribute, operand: int) -> int | None:
    """The dimension along which wgmma's operand number `operand` has to be contiguous: K, or either (None) where its
    elements have 16 bits (PTX ISA, 9.7.15.5.1)."""
    return None if element_of(element_type_of(type)).size == 2 else 1 - operand


def matrix_major(type: Attribute, operand: int) -> int | None:
    """As `k_major`, for buffers that mma's operands are read from as they were copied: ldmatrix turns elements of 16
    bits, and those of 8 bytes are read one by one."""
    return 1 - operand if element_of(element_type_of(type)).size == 1 else None


def written_major(buffer: SSAValue) -> int | None:
    """As `k_major`, for a buffer or a part of one that some wgmma reads."""
    for use in root_of(buffer).uses:
        if isinstance(use.operation, tile.DotOp) and reads_shared(use.operation):
            return k_major(buffer.type, use.index)
    return None


def _filled_layout(buffer: SSAValue, major: int | None) -> SharedLayout:
    """Panels of the swizzle's 128 bytes along `major`, or else the dimension that is contiguous in what fills the
    buffer; narrower ones where the parts that fill it are."""
    size = element_of(element_type_of(buffer.type)).size
    directions: set[int] = set()
    parts: list[tuple[int, ...]] = []
    for fill in fills_of(buffer):
        if isinstance(fill, tile.CopyOp):
            parts.append(shape_of(fill.buffer.type))
            directions.add(_copied_along(fill))
        else:
            parts.append(shape_of(fill.tile.type))
            directions.add(fragment_layout(fill.tile.type).vector[0] if major is None else major)
    if len(directions) != 1:
        raise IrcError("the parts of a dot's operand are contiguous along different dimensions")
    (inner,) = directions
    shape = shape_of(buffer.type)
    if shape[1 - inner] == 1:
        return panels(shape, inner, shape[inner], IDENTITY)
    width = min(SWIZZLE_BYTES // size, *(part[inner] & -part[inner] for part in parts))
    if width * size < SMALLEST_SWIZZLE:
        raise IrcError(
            f"wgmma reads rows of {SMALLEST_SWIZZLE} bytes or more, a {shape[0]} x {shape[1]} tile has {width * size}",
            fills_of(buffer)[0].location,
            "a larger tile in its #kernel.config",
        )
    return _panels(shape, inner, width, size)


def _copied_along(copy: tile.CopyOp) -> int:
    """The dimension of the buffer along which a copy brings neighbors."""
    shape = shape_of(copy.buffer.type)
    if isinstance(copy.via, tile.Im2colAttr):
        channel = channel_dim(copy, len(shape))
        assert channel is not None
        return channel
    way = box_access(copy, shape) if copy.is_via("tma") else async_copy(copy, shape)
    assert way is not None
    return way.inner


def _copied_layout(buffer: SSAValue, copies: Sequence[tile.CopyOp]) -> SharedLayout:
    """Panels as those of wgmma: 8 rows of 16 bytes, which ldmatrix reads at a time, are in different banks."""
    size = element_of(element_type_of(buffer.type)).size
    inner = _copied_along(copies[0])
    extents = [shape_of(copy.buffer.type)[inner] for copy in copies]
    width = min(SWIZZLE_BYTES // size, *(extent & -extent for extent in extents))
    return _panels(shape_of(buffer.type), inner, width, size)


def _stored_layout(buffer: SSAValue) -> SharedLayout:
    """Rows of the widest swizzle that fits into the part that is stored at a time."""
    size = element_of(element_type_of(buffer.type)).size
    extent = shape_of(buffer.type)[1]
    width = min(SWIZZLE_BYTES // size, extent & -extent)
    return _panels(shape_of(root_of(buffer).type), 1, width, size)


def _panels(shape: tuple[int, ...], inner: int, width: int, size: int) -> SharedLayout:
    """Panels of `width` elements of `size` bytes, each with the hardware's swizzle for that many bytes."""
    base = (16 // size).bit_length() - 1
    bits = (width * size // 16).bit_length() - 1
    return panels(shape, inner, width, Swizzle(bits, base, 3))


def _exchange(dot: tile.DotOp, buffer: SSAValue, k_dim: int) -> SharedLayout:
    """The layout between the threads that write an operand and those that multiply with it."""
    fills = fills_of(buffer)
    acc = fragment_layout(dot.acc.type)
    shape = shape_of(buffer.type)
    size = element_of(element_type_of(buffer.type)).size
    copies = [fill for fill in fills if isinstance(fill, tile.CopyOp)]
    if copies and size <= MATRIX_BYTES:
        return _copied_layout(buffer, copies)
    if dot.atom is not None:
        atom = mma_atom(dot)
        warps = warp_grid(acc)
        reader = mma_operand(atom, "a" if k_dim == 1 else "b", shape[1 - k_dim], warps)
    else:
        reader = acc.project([k_dim])
    if len(fills) != 1:
        return _copied_layout(buffer, copies) if copies else plain(shape, [reader.vector[0], 1 - reader.vector[0]])
    writer = _writer(fills[0], acc.thread_count)
    if dot.atom is not None and size == MATRIX_BYTES and not any(extent % MATRIX for extent in shape):
        rows = (matrix_rows(shape, along) for along in (k_dim, 1 - k_dim))
        return min((exchange(writer, each, size, MATRIX) for each in rows), key=lambda found: found.cycles).layout
    return exchange(writer, reader, size).layout


def _writer(fill: tile.CopyOp | tile.WriteOp, threads: int) -> Fragment:
    """What each thread brings to the buffer."""
    if isinstance(fill, tile.WriteOp):
        return fragment_layout(fill.tile.type)
    shape = shape_of(fill.buffer.type)
    way = async_copy(fill, shape)
    assert way is not None
    return copy_fragment(shape, way, threads)


def _retype(buffer: SSAValue, layout: SharedLayout) -> None:
    assert isinstance(buffer.type, tile.BufferType)
    shape = shape_of(buffer.type)
    type = tile.BufferType.of(shape, buffer.type.element_type, tile.SharedAttr(layout))
    replaced = Rewriter.replace_value_with_new_type(buffer, type)
    for use in list(replaced.uses):
        if isinstance(use.operation, tile.SubviewOp):
            _retype(use.operation.result, _part(layout, shape_of(use.operation.result.type)))
        if isinstance(use.operation, tile.TransposeOp):
            _retype(use.operation.result, layout.permuted(use.operation.dim_values))


def _part(layout: SharedLayout, shape: tuple[int, ...]) -> SharedLayout:
    """The layout of a box of the buffer: fewer of the outermost of each dimension's modes."""
    return layout.compose(Layout(shape, compact_strides(layout.shape)))
