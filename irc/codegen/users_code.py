"""Kernels whose code the user wrote: their source, CUDA's headers, and errors at lines of the user's text."""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, StringAttr

from irc.codegen.nvrtc import Compilation, Refusal
from irc.dialects.cuda import KernelOp
from irc.support.diagnostics import IrcError, Span, register_source, source_line

HEADERS = "nvidia-cuda-runtime"
"""The wheel of CUDA's headers."""


def source_lines(kernel: KernelOp) -> list[str]:
    """The translation unit: the user's text below lines that name the kernel as the module does, and what is given. Of
    a kernel of machine code, its text as comments."""
    if kernel.image is None:
        return [*_before(kernel), *_texts(kernel.code)]
    head = f"{kernel.sym_name.data}: machine code of {_entry(kernel)}"
    return [f"// {line}".rstrip() for line in (head, *_texts(kernel.given), *_texts(kernel.code))]


def header_options() -> tuple[str, ...]:
    """The options by which NVRTC finds CUDA's headers, of which the version is one, as results are kept by them."""
    found = _headers()
    return () if found is None else (f"--include-path={found[0]}", f"-DIRC_CUDA_HEADERS={found[1]}")


@cache
def _headers() -> tuple[str, str] | None:
    """The folder of CUDA's headers, and their version without dots; None where they are not installed."""
    try:
        wheel = importlib.metadata.distribution(HEADERS)
    except importlib.metadata.PackageNotFoundError:
        return None
    file = next((each for each in wheel.files or () if each.name == "cuda_fp16.h"), None)
    return None if file is None else (str(wheel.locate_file(file.parent)), wheel.version.replace(".", ""))


def users_error(kernel: KernelOp, refusal: Refusal) -> IrcError:
    """What NVRTC says of the user's text, at the line that it is about."""
    entry = _entry(kernel)
    found = re.findall(_ERROR.format(re.escape(kernel.sym_name.data)), refusal.log, re.MULTILINE)
    errors = [(int(number) - len(_before(kernel)), text) for number, text in found]
    if not errors:
        return IrcError(f"NVRTC cannot compile {entry}: {refusal.message}", kernel.location)
    line, text = next((each for each in errors if each[0] >= 1), errors[0])
    hint = None
    if "cannot open source file" in text:
        hint = f"the headers of the wheel {HEADERS} are found, cuda_fp16.h, cuda_bf16.h and cuda_fp8.h for some"
    elif len(errors) > 1:
        hint = f"NVRTC found {len(errors)} errors, of which this is the first"
    text = text.replace(kernel.sym_name.data, entry)
    return IrcError(f"CUDA C++ of {entry}: {text}", _place(kernel, max(line, 1)), hint)


_ERROR = r"^{}\.cu\((\d+)\): (?:catastrophic )?error: (.*)$"


def check_entry(kernel: KernelOp, compilation: Compilation) -> None:
    """IrcError where the text has no kernel of the name that is launched."""
    if kernel.sym_name.data not in compilation.resources:
        entry, found = _entry(kernel), ", ".join(compilation.resources) or "none"
        hint = f'extern "C" __global__ void {entry}(...) is one; found {found}'
        raise IrcError(f"the text of {entry} has no kernel of this name", _place(kernel, 1), hint)


def _place(kernel: KernelOp, number: int) -> Span:
    """A line of the text: of the file that has it, or of the text alone where IR was read that no file has as it is."""
    lines = _texts(kernel.code)
    line = lines[number - 1] if number <= len(lines) else ""
    column = len(line) - len(line.lstrip()) + 1
    begin = kernel.location
    if isinstance(begin, FileLineColLoc):
        there = source_line(begin.filename.data, begin.line.data + number - 1)
        if there is not None and there.endswith(line):
            return Span(begin.filename.data, begin.line.data + number - 1, column + len(there) - len(line))
    name = f"<{_entry(kernel)}.cu>"
    register_source(name, "\n".join(lines))
    return Span(name, number, column)


def _before(kernel: KernelOp) -> list[str]:
    entry, symbol = _entry(kernel), kernel.sym_name.data
    return [*([] if entry == symbol else [f"#define {entry} {symbol}"]), *_texts(kernel.given)]


def _entry(kernel: KernelOp) -> str:
    return kernel.sym_name.data if kernel.entry is None else kernel.entry.data


def _texts(lines: ArrayAttr[StringAttr] | None) -> list[str]:
    return [] if lines is None else [each.data for each in lines]
