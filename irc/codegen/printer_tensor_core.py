"""Printing of wgmma, mma and tcgen05."""

from __future__ import annotations

from irc.codegen.atoms import Atom
from irc.codegen.prelude_tensor_core import OPERANDS, mma_name
from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_memory import slice_of
from irc.dialects import cuda
from irc.layout.instructions import ATOMS
from irc.layout.tcgen05 import OPERANDS as KIND_OF
from irc.layout.tcgen05 import instruction_descriptor


def _atom(op: cuda.WgmmaOp | cuda.WgmmaRegistersOp) -> Atom:
    assert isinstance(op.accumulator.type, cuda.RegistersType)
    return Atom(
        op.n.value.data,
        op.k.value.data,
        str(op.accumulator.type.element),
        str(op.lhs_type),
        str(op.rhs_type),
        isinstance(op, cuda.WgmmaRegistersOp),
        isinstance(op, cuda.WgmmaOp) and bool(op.transpose_lhs.value.data),
        bool(op.transpose_rhs.value.data),
    )


@prints(cuda.WgmmaOp, cuda.WgmmaRegistersOp)
def wgmma(p: KernelPrinter, op: cuda.WgmmaOp | cuda.WgmmaRegistersOp) -> None:
    lhs = slice_of(p, op.lhs, op.lhs_index) if isinstance(op, cuda.WgmmaRegistersOp) else op.lhs
    p.call(_atom(op).name, slice_of(p, op.accumulator, op.index), lhs, op.rhs, op.accumulate)


@prints(cuda.MmaOp)
def mma(p: KernelPrinter, op: cuda.MmaOp) -> None:
    assert isinstance(op.lhs.type, cuda.RegistersType)
    assert isinstance(op.accumulator.type, cuda.RegistersType)
    element = str(op.lhs.type.element)
    names = OPERANDS.get(element, (element,))
    lhs, rhs = (names[-1 if flag.value.data else 0] for flag in (op.unsigned_lhs, op.unsigned_rhs))
    is_rounded = element == "f32" and not op.truncated.value.data
    name = (
        "mma_tf32" if is_rounded else mma_name(ATOMS[op.instruction.data], str(op.accumulator.type.element), lhs, rhs)
    )
    slices = ((op.accumulator, op.index), (op.lhs, op.lhs_index), (op.rhs, op.rhs_index))
    p.call(name, *(slice_of(p, *each) for each in slices))


@prints(cuda.Tcgen05MmaOp)
def tcgen05_mma(p: KernelPrinter, op: cuda.Tcgen05MmaOp) -> None:
    lhs, rhs = str(op.lhs_type), str(op.rhs_type)
    transpose_lhs, transpose_rhs = bool(op.transpose_lhs.value.data), bool(op.transpose_rhs.value.data)
    bits = instruction_descriptor(op.n.value.data, lhs, rhs, transpose_lhs=transpose_lhs, transpose_rhs=transpose_rhs)
    p.call(f"tcgen05_mma_{KIND_OF[lhs].name}", op.tensor, op.lhs, op.rhs, f"{bits:#x}", op.accumulate)


@prints(cuda.Tcgen05LoadOp)
def tcgen05_load(p: KernelPrinter, op: cuda.Tcgen05LoadOp) -> None:
    p.call(f"tcgen05_load_x{op.count.value.data}", slice_of(p, op.array, op.index), op.tensor)
