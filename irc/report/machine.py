"""CUDA C++ and SASS of kernels, line by line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from irc.codegen.compiling import LINES, compile_cached
from irc.codegen.images import compilation_of
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
    """Of kernels of a program in a file, compiled side by side. What cannot be made here has a note that says what is
    missing."""
    printed = [
        [Line(text, places_in(file, [location])) for text, location in located_lines([kernel])] for kernel in kernels
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = list(pool.map(lambda kernel, lines: _machine(kernel, lines, arch, options), kernels, printed))
    source = Column("cpp", "CUDA C++", [line for lines in printed for line in lines])
    note = next((each.note for each in made if each.note), "")
    sass = Column("sass", "SASS", [line for each in made for line in each.lines], note)
    return MachineCode((source, sass), {name: used for each in made for name, used in each.resources.items()})


@dataclass
class _Made:
    """What could be made of a kernel; the note says why the rest could not."""

    lines: Sequence[Line] = ()
    resources: Mapping[str, Resources] = field(default_factory=dict[str, Resources])
    note: str = ""


def _machine(kernel: KernelOp, printed: Sequence[Line], arch: str, options: Sequence[str]) -> _Made:
    name, text = kernel.sym_name.data, "".join(f"{line.text}\n" for line in printed)
    made = _Made()
    try:
        if kernel.image is None:
            compiled = compile_cached(text, arch, (*options, LINES), name=name, location=kernel.location)
        else:
            compiled = compilation_of(kernel, arch)
        made.resources = compiled.resources
        lines = printed if kernel.image is None else ()  # machine code that was given has lines of another text
        made.lines = [
            Line(text, lines[number - 1].places if 0 < number <= len(lines) else ())
            for text, number in instructions_by_line(compiled.cubin)
        ]
    except IrcError as error:
        made.note = f"{error.message}. {error.hint or ''}".rstrip()
    return made
