"""Matrices in shared memory that instructions read by themselves, and the descriptors of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from irc.dialects import cuda
from irc.layout.instructions import wgmma_depth
from irc.lowering.emitter import Index, known
from irc.lowering.memory import element_offset
from irc.lowering.values import Buffer, ThreadCode, element_bytes

_U8 = IntegerType(8, Signedness.UNSIGNED)


class Instruction(Protocol):
    """An instruction on two descriptors, for the rows that begin at one of the starts: `adds` is whether it adds to the
    sums, or overwrites them."""

    def __call__(
        self,
        row: int,
        lhs: SSAValue,
        rhs: SSAValue,
        adds: SSAValue,
        *,
        n: int,
        lhs_type: Attribute,
        rhs_type: Attribute,
        transpose_lhs: bool,
        transpose_rhs: bool,
    ) -> Operation: ...


def insert_steps(
    code: ThreadCode,
    dot: cuda.DotOp,
    starts: Iterable[Index],
    instruction: Instruction,
    op: type[cuda.DescriptorOp] | type[cuda.Tcgen05DescriptorOp] = cuda.DescriptorOp,
) -> None:
    """For the rows that begin at each of `starts`, instructions along K, each on 32 bytes of it. Where the product
    overwrites its sums, the first of them does, unless `adds` of the product says otherwise."""
    e, (m, n, k) = code.e, dot.mnk
    lhs, rhs = matrix_of(dot.lhs, (m, k)), matrix_of(dot.rhs, (k, n))
    depth, types = depth_of(rhs), [_U8 if dot.unsigned is not None else each.element for each in (lhs, rhs)]
    b, transpose_b = descriptor_of(code, rhs, 0, 1, 0, op)
    for row, start in enumerate(starts):
        a, transpose_a = descriptor_of(code, lhs, 1, 0, start, op)
        with e.loop(0, k // depth, unroll=True, hint="k") as step:
            each = instruction(
                row,
                advanced(code, a, lhs, 1, step, depth),
                advanced(code, b, rhs, 0, step, depth),
                _adds(code, dot, step),
                n=n,
                lhs_type=types[0],
                rhs_type=types[1],
                transpose_lhs=transpose_a,
                transpose_rhs=transpose_b,
            )
            e.insert(each)


def _adds(code: ThreadCode, dot: cuda.DotOp, step: Index) -> SSAValue:
    """Whether an instruction adds to the sums."""
    if dot.overwrites is None:
        return code.e.constant(1, i1)
    is_later = code.e.compare("ne", step, 0)
    return is_later if dot.adds is None else code.e.value(arith.OrIOp(is_later, dot.adds))


def matrix_of(operand: SSAValue, shape: tuple[int, int]) -> Buffer:
    """A part of a matrix, from its origin on."""
    op = operand.owner
    assert isinstance(op, cuda.MatrixOp)
    assert isinstance(op.result.type, cuda.MatrixType)
    type = op.result.type
    return Buffer(known(op.address), type.layout.data, type.element, tuple(map(known, op.origin)), shape)


def depth_of(operand: Buffer) -> int:
    """Elements along K that one instruction multiplies: 32 bytes, of wgmma and of tcgen05."""
    return wgmma_depth(element_bytes(operand.element))


def advanced(code: ThreadCode, descriptor: SSAValue, buffer: Buffer, k_dim: int, step: Index, depth: int) -> SSAValue:
    """The descriptor of step `step` of `depth` elements along k, in units of 16 bytes: inside a panel, then from panel
    to panel."""
    e = code.e
    size = element_bytes(buffer.element)
    (width, stride), *panels = buffer.layout.modes[k_dim]
    counts = [width // depth, *(count for count, _ in panels)]
    units = [depth * stride * size // 16, *(stride * size // 16 for _, stride in panels)]
    offset: Index = 0
    for part, unit in zip(e.split(step, counts), units, strict=True):
        offset = e.add(offset, e.mul(part, unit))
    return e.value(arith.AddiOp(descriptor, e.value(arith.IndexCastOp(e.index(offset), i64))))


def descriptor_of(
    code: ThreadCode,
    buffer: Buffer,
    k_dim: int,
    free_dim: int,
    start: Index,
    op: type[cuda.DescriptorOp] | type[cuda.Tcgen05DescriptorOp] = cuda.DescriptorOp,
) -> tuple[SSAValue, bool]:
    """The descriptor, of wgmma or tcgen05, of an operand from free coordinate `start` on, and whether it is MN-major.

    K-major: panels of 64 x 16-bit elements along K; 8 rows of 128 bytes are a group. MN-major: panels along the free
    dimension, `leading` bytes apart; 8 rows of k are a group.
    """
    e = code.e
    size = element_bytes(buffer.element)
    modes = buffer.layout.modes
    at: list[Index] = [0, 0]
    at[free_dim] = start
    address = e.i32(e.add(buffer.address, e.mul(element_offset(code, buffer, at), size)))
    if modes[k_dim][0][1] == 1:
        pitch = modes[free_dim][0][1] * size
        return e.value(op(address, leading=16, stride=8 * pitch, swizzle=pitch)), False
    pitch = modes[k_dim][0][1] * size
    leading = modes[free_dim][1][1] * size if len(modes[free_dim]) > 1 else modes[k_dim][0][0] * pitch
    return e.value(op(address, leading=leading, stride=8 * pitch, swizzle=pitch)), True
