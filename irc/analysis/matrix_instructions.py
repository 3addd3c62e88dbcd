"""What computes the dots of a program: rows of the table of matrix instructions."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.ir import Operation

from irc.analysis.configs import config_of
from irc.dialects import tile
from irc.layout.matrix_instructions import MATRIX_INSTRUCTIONS, MatrixInstruction


def instruction_of(op: tile.DotOp | tile.ProgramOp) -> MatrixInstruction | None:
    """What `assign-layouts` chose for a dot, or will choose for those of a program by its config; None before."""
    if isinstance(op, tile.DotOp):
        name = None if op.instruction is None else op.instruction.data
    else:
        name = config_of(op).instruction
    return None if name is None else MATRIX_INSTRUCTIONS.get(name)


def is_asynchronous(op: Operation) -> TypeGuard[tile.DotOp]:
    """Whether an op is a dot that may stay in flight behind it."""
    row = instruction_of(op) if isinstance(op, tile.DotOp) else None
    return row is not None and row.is_asynchronous


def has_producer(op: tile.DotOp | tile.ProgramOp) -> bool:
    """Whether warps of their own fill what a dot, or those of a program, read."""
    row = instruction_of(op)
    return row is not None and row.has_producer


def is_in_step(op: tile.DotOp | tile.ProgramOp) -> bool:
    """Whether the threads that multiply fill what they read themselves."""
    row = instruction_of(op)
    return row is not None and row.is_in_step


def sums_in_tensor_memory(op: Operation) -> TypeGuard[tile.DotOp]:
    """Whether an op is a dot whose sums are in Tensor Memory: a barrier says that it is complete."""
    row = instruction_of(op) if isinstance(op, tile.DotOp) else None
    return row is not None and row.sums == "tensor"


def reads_shared(op: tile.DotOp | tile.ProgramOp) -> bool:
    """Whether the instruction of a dot, or of those of a program, reads its right operand from shared memory itself."""
    row = instruction_of(op)
    return row is not None and "shared" in row.rhs
