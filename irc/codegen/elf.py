"""What a cubin says of its kernels: sections of an ELF file, and the attributes of kernels in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from irc.codegen.nvrtc import Resources
from irc.support.diagnostics import IrcError

_HEADER = "<IIQQQQIIQQ"
"""Of a section in a file of 64 bits: name, type, flags, address, offset, size, link, info, alignment, entry size."""

_INFO, _FRAME, _REGISTERS = ".nv.info", 0x11, 0x2F
"""The section of attributes of all kernels, and two of them: `EIATTR_FRAME_SIZE` and `EIATTR_REGCOUNT`, as cuobjdump
calls them. Each has the number of a symbol, and a number."""

_WITH_BYTES = 4
"""The format of an attribute that has the size of its value before it; others have a value of two bytes."""

_NO_CONTENT = 8
"""The type of a section that the file has no bytes of."""


@dataclass(frozen=True)
class Section:
    """link: the number of the section of its names, of one of symbols."""

    name: str
    content: bytes
    link: int


def sections_of(cubin: bytes) -> list[Section]:
    """The sections of a cubin; IrcError where it is none."""
    if cubin[:5] != b"\x7fELF\x02":
        raise IrcError("a cubin is a 64-bit ELF file")
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from(_HEADER, cubin, offset + number * size) for number in range(count)]
    strings = headers[names][4]
    return [
        Section(
            _text_at(cubin, strings + header[0]),
            b"" if header[1] == _NO_CONTENT else cubin[header[4] : header[4] + header[5]],
            header[6],
        )
        for header in headers
    ]


def resources_of(cubin: bytes, kernel: str) -> Resources:
    """What a kernel of a cubin uses, of which all shared memory is dynamic, and all of the frame is what it spills.
    IrcError where the cubin has no such kernel."""
    sections = sections_of(cubin)
    symbols = _symbols(sections)
    found = {kind: value for kind, symbol, value in _attributes(sections) if symbols.get(symbol) == kernel}
    if _REGISTERS not in found:
        raise IrcError(f"the machine code has no kernel {kernel}")
    frame = found.get(_FRAME, 0)
    return Resources(found[_REGISTERS], frame, frame, frame, 0)


def _symbols(sections: list[Section]) -> dict[int, str]:
    """The names of symbols by their numbers."""
    table = next((each for each in sections if each.name == ".symtab"), None)
    if table is None:
        return {}
    strings = sections[table.link].content
    entries = struct.iter_unpack("<IBBHQQ", table.content)
    return {number: _text_at(strings, entry[0]) for number, entry in enumerate(entries)}


def _attributes(sections: list[Section]) -> Iterator[tuple[int, int, int]]:
    """The attributes of kernels that are numbers: which, the symbol, and the number."""
    content = next((each.content for each in sections if each.name == _INFO), b"")
    at = 0
    while at + 4 <= len(content):
        form, kind, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form != _WITH_BYTES:
            continue
        if size == 8:
            symbol, value = struct.unpack_from("<II", content, at)
            yield kind, symbol, value
        at += size


def _text_at(content: bytes, start: int) -> str:
    return content[start : content.index(b"\0", start)].decode(errors="replace")
