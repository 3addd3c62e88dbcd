"""Whether kernels take for granted no more of where their arrays begin than the caller said."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.dialects import tile
from irc.dialects.kernel import LaunchOp
from irc.ir.alignment import DEFAULT_ALIGN, alignment_of, alignments
from irc.ir.donation import donations
from irc.support.diagnostics import IrcError


def check_alignments(program: tile.ProgramOp) -> None:
    """IrcError where a program reads an argument of a function as if it began at larger multiples of bytes."""
    module = program.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    functions = [op for op in module.ops if isinstance(op, FuncOp) and alignments(op)]
    for function in functions:
        narrow = {argument for argument, size in alignments(function).items() if size < DEFAULT_ALIGN}
        if written := sorted(narrow & set(donations(function).values())):
            raise IrcError(
                f"argument {written[0]} is donated, and begins at no multiple of {DEFAULT_ALIGN} bytes",
                function.location,
            )
    for op in (op for function in functions for op in function.walk()):
        if isinstance(op, LaunchOp) and op.callee.root_reference.data == program.sym_name.data:
            _check(op, program)


def check_launch(launch: LaunchOp, kernel: str) -> None:
    """IrcError where a launch gives a kernel of machine code an argument that begins at smaller multiples of bytes than
    all arrays do where nothing is said, which such a kernel was compiled for."""
    for value in launch.inputs:
        if (has := alignment_of(value)) < DEFAULT_ALIGN:
            raise IrcError(
                f"{kernel} is machine code for arrays that begin at multiples of {DEFAULT_ALIGN} bytes, and an "
                f"argument is said to begin at a multiple of {has}",
                launch.location,
                f"without `align` of that argument, a call copies what begins elsewhere than at {DEFAULT_ALIGN} bytes",
            )


def _check(launch: LaunchOp, program: tile.ProgramOp) -> None:
    for value, view in zip(launch.inputs, program.inputs, strict=False):
        assert isinstance(view.type, tile.ViewType)
        if (has := alignment_of(value)) < view.type.alignment:
            raise IrcError(
                f"kernel {program.sym_name.data} takes {view.name_hint or 'an argument'} to begin at a multiple of "
                f"{view.type.alignment} bytes, which is said to begin at a multiple of {has}",
                launch.location,
                "a kernel of one's own reads arrays that begin at multiples of 16 bytes",
            )
