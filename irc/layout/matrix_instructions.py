"""The matrix instructions: who issues one, how it is known to be complete, where its operands are, and of what types.

Passes ask a row of this table what to do; another chip's instructions are further rows. How an instruction spreads its
operands over lanes and registers is in `irc/layout/instructions.py`, and which shapes a chip has in its `Target`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from irc.layout.instructions import LANES, WARP_GROUP


@dataclass(frozen=True)
class OperandType:
    """How operands of an element type are multiplied. Products that ask for less have rows of their own: `tf32` of f32,
    `f16 in f16` of f16 whose sums are f16. operand: the type that the instruction takes in their place; accumulator:
    that of the sums; parts: tiles that each operand becomes; sums: accumulators of a tile, 2 where the sums of one step
    along K are added to those of all (promote-sums)."""

    operand: str
    accumulator: str
    parts: int = 1
    sums: int = 1


@dataclass(frozen=True)
class MatrixInstruction:
    """A way to multiply tiles.

    threads: that issue one together: a thread, the lanes of a warp, or a warp group.
    completion: how it is known to be complete, when threads need what it gives, or want to overwrite what it reads.
    `result`: it is complete for whoever uses its result. `groups`: it goes on beside the threads that issued it, which
    wait for groups of such. `barrier`: the same, and a barrier in shared memory gets an arrival.
    lhs, rhs: where the operands may be when it is issued, `registers` or `shared` memory.
    sums: where its sums are, `registers` or `tensor` memory, from where threads load them when they are complete.
    operands: by the element types of operands; of those that it leaves out, both are taken as they are.
    """

    name: str
    threads: int
    completion: str
    lhs: frozenset[str]
    rhs: frozenset[str]
    operands: Mapping[str, OperandType] = field(default_factory=lambda: MappingProxyType({}))
    sums: str = "registers"

    @property
    def is_asynchronous(self) -> bool:
        """Whether it goes on beside the threads that issued it."""
        return self.completion != "result"

    @property
    def has_producer(self) -> bool:
        """Whether warps of their own fill the stages that it reads, by TMA: it reads shared memory by itself, and those
        that issue it have nothing to do with its operands."""
        return self.is_asynchronous and "shared" in self.rhs

    @property
    def is_in_step(self) -> bool:
        """Whether the threads that multiply fill the stages themselves, ahead of the one that they read: each warp
        loads its operands from shared memory."""
        return not self.is_asynchronous and self.threads > 1

    @property
    def splits_columns(self) -> bool:
        """Whether warps lie side by side along the columns of an accumulator, as well as along its rows."""
        return self.threads < WARP_GROUP

    def takes(self, element: str) -> OperandType:
        """How it multiplies operands of an element type."""
        return self.operands.get(element, OperandType(element, element))


SHORT_SUMS = "f16 in f16"
"""The row of products of f16 whose sums are f16."""

_SHARED, _REGISTERS = frozenset({"shared"}), frozenset({"registers"})

MATRIX_INSTRUCTIONS: Mapping[str, MatrixInstruction] = MappingProxyType(
    {
        row.name: row
        for row in (
            MatrixInstruction(
                "wgmma",  # PTX ISA, 9.7.15 "Asynchronous warpgroup level matrix instructions"
                WARP_GROUP,
                completion="groups",
                lhs=_SHARED | _REGISTERS,
                rhs=_SHARED,
                operands={
                    "bf16": OperandType("bf16", "f32"),
                    "f16": OperandType("f16", "f32"),
                    "f32": OperandType("tf32", "f32", parts=2, sums=2),
                    "tf32": OperandType("tf32", "f32"),
                    "f8e4m3": OperandType("f8e4m3", "f32", sums=2),
                    "f8e5m2": OperandType("f8e5m2", "f32", sums=2),
                    "i8": OperandType("i8", "i32"),
                    "u8": OperandType("u8", "i32"),
                },
            ),
            MatrixInstruction(
                "tcgen05",  # PTX ISA, 9.7.16 "TensorCore 5th Generation Family Instructions"
                1,
                completion="barrier",
                lhs=_SHARED,
                rhs=_SHARED,
                sums="tensor",
                operands={
                    "tf32": OperandType("tf32", "f32"),
                    "bf16": OperandType("bf16", "f32"),
                    "f16": OperandType("f16", "f32"),
                    "f8e4m3": OperandType("f8e4m3", "f32"),
                    "f8e5m2": OperandType("f8e5m2", "f32"),
                    "i8": OperandType("i8", "i32"),
                    "u8": OperandType("u8", "i32"),
                },
            ),
            MatrixInstruction(
                "mma",  # PTX ISA, 9.7.14 "Warp level matrix multiply-accumulate instructions"; f8 is widened
                LANES,
                completion="result",
                lhs=_REGISTERS,
                rhs=_REGISTERS,
                operands={
                    "bf16": OperandType("bf16", "f32"),
                    "f16": OperandType("f16", "f32"),
                    SHORT_SUMS: OperandType("f16", "f16"),
                    "f8e4m3": OperandType("f16", "f32"),
                    "f8e5m2": OperandType("f16", "f32"),
                    "i8": OperandType("i8", "i32"),
                    "u8": OperandType("u8", "i32"),
                    "f32": OperandType("tf32", "f32", sums=2),  # its parts are made in registers (lower-to-cuda)
                    "tf32": OperandType("tf32", "f32"),
                    "f64": OperandType("f64", "f64"),
                },
            ),
            MatrixInstruction(
                "fma",  # scalar multiply-adds; f8 is widened
                1,
                completion="result",
                lhs=_REGISTERS,
                rhs=_REGISTERS,
                operands={"f8e4m3": OperandType("f16", "f32"), "f8e5m2": OperandType("f16", "f32")},
            ),
        )
    }
)
"""By the names in a `#kernel.config` and a `tile.dot`."""


def fills_channels(instruction: str | None) -> bool:
    """Whether kernels of an instruction of that name have a producer, whose channels it reads."""
    row = None if instruction is None else MATRIX_INSTRUCTIONS.get(instruction)
    return row is not None and row.has_producer
