"""Printing of wgmma and mma."""

from __future__ import annotations

from irc.codegen.atoms import Atom
from irc.codegen.prelude_tensor_core import MMA_NAMES
from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_memory import slice_of
from irc.dialects.cuda import (
    DescriptorOp,
    MmaOp,
    RegistersFenceOp,
    RegistersType,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaOp,
    WgmmaRegistersOp,
    WgmmaWaitOp,
)

_LAYOUTS = {0: 0, 128: 1, 64: 2, 32: 3}
"""The layout type of a wgmma descriptor by the swizzle's width (PTX ISA, 9.7.15.5.1.2, bits 62 and 63)."""


@prints(DescriptorOp)
def descriptor(p: KernelPrinter, op: DescriptorOp) -> None:
    p.use("wgmma_descriptor")
    layout = _LAYOUTS[op.swizzle.value.data]
    p.define(
        op.result,
        f"wgmma_descriptor({p.value(op.address)}, {op.leading.value.data}, {op.stride.value.data}, {layout})",
    )


def _atom(op: WgmmaOp | WgmmaRegistersOp) -> Atom:
    assert isinstance(op.accumulator.type, RegistersType)
    return Atom(
        op.n.value.data,
        op.k.value.data,
        str(op.accumulator.type.element),
        str(op.lhs_type),
        str(op.rhs_type),
        isinstance(op, WgmmaRegistersOp),
        isinstance(op, WgmmaOp) and bool(op.transpose_lhs.value.data),
        bool(op.transpose_rhs.value.data),
    )


@prints(WgmmaOp, WgmmaRegistersOp)
def wgmma(p: KernelPrinter, op: WgmmaOp | WgmmaRegistersOp) -> None:
    name = _atom(op).name
    p.use(name)
    lhs = slice_of(p, op.lhs, op.lhs_index) if isinstance(op, WgmmaRegistersOp) else p.value(op.lhs)
    accumulator = slice_of(p, op.accumulator, op.index)
    p.line(f"{name}({accumulator}, {lhs}, {p.value(op.rhs)}, {p.value(op.accumulate)});")


@prints(WgmmaFenceOp)
def wgmma_fence(p: KernelPrinter, op: WgmmaFenceOp) -> None:
    p.use("wgmma_fence")
    p.line("wgmma_fence();")


@prints(WgmmaCommitOp)
def wgmma_commit(p: KernelPrinter, op: WgmmaCommitOp) -> None:
    p.use("wgmma_commit")
    p.line("wgmma_commit();")


@prints(WgmmaWaitOp)
def wgmma_wait(p: KernelPrinter, op: WgmmaWaitOp) -> None:
    p.use("wgmma_wait")
    p.line(f"wgmma_wait<{op.pending.value.data}>();")


@prints(RegistersFenceOp)
def registers_fence(p: KernelPrinter, op: RegistersFenceOp) -> None:
    p.use("registers_fence")
    p.line(f"registers_fence({p.value(op.array)});")


_MMA_TYPES = {"bf16": "bf16", "f16": "f16", "f64": "f64"}


@prints(MmaOp)
def mma(p: KernelPrinter, op: MmaOp) -> None:
    assert isinstance(op.lhs.type, RegistersType)
    element, shape = str(op.lhs.type.element), op.instruction.data
    if element == "f32":
        name = "mma_tf32"
    elif element == "i8":
        lhs, rhs = ("u8" if flag.value.data else "s8" for flag in (op.unsigned_lhs, op.unsigned_rhs))
        name = MMA_NAMES[shape, lhs, rhs]
    else:
        name = MMA_NAMES[shape, _MMA_TYPES[element], _MMA_TYPES[element]]
    p.use(name)
    slices = ((op.accumulator, op.index), (op.lhs, op.lhs_index), (op.rhs, op.rhs_index))
    p.line(f"{name}({', '.join(slice_of(p, array, index) for array, index in slices)});")
