"""CUDA C++ and SASS of kernels, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.codegen.compiling import LINES, compile_cached
from irc.codegen.nvrtc import Resources
from irc.codegen.printer import located_lines
from irc.codegen.sass import instructions_by_line
from irc.dialects.cuda import KernelOp
from irc.report.columns import Column, Line, places_in
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class MachineCode:
    """The columns of all kernels, and what the assembler reports of each, where there is an assembler."""

    columns: tuple[Column, Column]
    resources: dict[str, Resources]


def machine_code(kernels: Sequence[KernelOp], arch: str, options: Sequence[str], file: str) -> MachineCode:
    """Of kernels of a program in a file. What cannot be made here has a note that says what is missing."""
    source: list[Line] = []
    sass: list[Line] = []
    resources: dict[str, Resources] = {}
    note = ""
    for kernel in kernels:
        printed = [Line(text, places_in(file, [location])) for text, location in located_lines([kernel])]
        source += printed
        try:
            sass += _sass(kernel, printed, arch, options, resources)
        except IrcError as error:
            note = f"{error.message}. {error.hint or ''}"
    columns = Column("cpp", "CUDA C++", source), Column("sass", "SASS", sass, note)
    return MachineCode(columns, resources)


def _sass(
    kernel: KernelOp, printed: Sequence[Line], arch: str, options: Sequence[str], resources: dict[str, Resources]
) -> list[Line]:
    name, text = kernel.sym_name.data, "".join(f"{line.text}\n" for line in printed)
    compiled = compile_cached(text, arch, (*options, LINES), name=name, location=kernel.location)
    resources |= compiled.resources
    found = instructions_by_line(compiled.cubin)
    return [Line(text, printed[number - 1].places if 0 < number <= len(printed) else ()) for text, number in found]
