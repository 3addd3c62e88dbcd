"""Kernels whose machine code another compiler made: as lines of text in IR, and back."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from textwrap import wrap

from irc.codegen.elf import resources_of
from irc.codegen.nvrtc import Compilation
from irc.dialects.cuda import KernelOp
from irc.support.diagnostics import IrcError

LINE = 120
"""Characters of a line."""

_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)


def image_of(ptx: str, cubin: bytes) -> list[str]:
    """PTX and machine code as lines: base64 of compressed JSON."""
    content = json.dumps({"ptx": ptx, "cubin": b64encode(cubin).decode()}).encode()
    return wrap(b64encode(zlib.compress(content, 9)).decode(), LINE)


def compilation_of(kernel: KernelOp, arch: str) -> Compilation:
    """What the image of a kernel has of it, by the name that the module has for it. IrcError where it is for another
    architecture, or no image."""
    assert kernel.image is not None and kernel.entry is not None
    name, entry = kernel.sym_name.data, kernel.entry.data
    try:
        found = json.loads(zlib.decompress(b64decode("".join(line.data for line in kernel.image))))
        ptx, cubin = found["ptx"], b64decode(found["cubin"])
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise IrcError(f"the image of {name} is damaged: {error}", kernel.location) from error
    made_for = target_of_ptx(ptx)
    if made_for != arch:
        hint = f"call its function again where the target is {arch}: it is compiled when it is recorded"
        raise IrcError(
            f"the machine code of {name} is for {made_for}, and the module for {arch}", kernel.location, hint
        )
    return Compilation(ptx, cubin, "", {name: resources_of(cubin, entry)}, ())


def target_of_ptx(ptx: str) -> str:
    """The architecture that PTX says it is for."""
    found = _TARGET.search(ptx)
    return "none" if found is None else found[1]


def parameter_count(ptx: str, entry: str) -> int | None:
    """How many parameters a kernel has; None where there is no such kernel."""
    found = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(([^)]*)\)", ptx)
    return None if found is None else len(re.findall(r"\.param\b", found[1]))
