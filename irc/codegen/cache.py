"""Compiled kernels on disk: a source, its options and the compiler's version are the key, a compilation is the entry.

The folder and its rules are `irc.support.cache`'s: processes can share it, and what is wrong with it costs time and
nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict

from xdsl.ir import Attribute

from irc.codegen.nvrtc import Compilation, Resources, compile_source, compiler_options, compiler_version
from irc.support import cache as store

KIND = "cubin"
"""The name of the entries' folder."""

FORMAT = 2
"""Of an entry; another one is not read."""


_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
"""Lines that name a place of the program: moving a statement changes no machine code."""


def compile_cached(
    source: str, arch: str, options: Sequence[str] = (), *, name: str = "kernel", location: Attribute | None = None
) -> Compilation:
    """`compile_source`, or what it gave for the same source, options and compiler before."""
    key = cache_key(source, arch, options)
    if (content := store.read(KIND, key)) is not None:
        return decode(content)
    compilation = compile_source(source, arch, options, name=name, location=location)
    store.write(KIND, key, encode(compilation))
    return compilation


def cache_key(source: str, arch: str, options: Sequence[str] = ()) -> str:
    """A digest of all that a compilation depends on; the folders of headers are in it by their versions."""
    flags = [option for option in (*compiler_options(source, arch), *options) if not option.startswith("-I")]
    digest = hashlib.sha256()
    for part in (str(FORMAT), compiler_version(), *flags, _COMMENT.sub("", source)):
        data = part.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def encode(compilation: Compilation) -> bytes:
    """An entry: compressed JSON."""
    entry = asdict(compilation) | {"cubin": b64encode(compilation.cubin).decode()}
    return zlib.compress(json.dumps(entry).encode())


def decode(content: bytes) -> Compilation:
    """The compilation of an entry."""
    entry = json.loads(zlib.decompress(content))
    return Compilation(
        ptx=entry["ptx"],
        cubin=b64decode(entry["cubin"]),
        log=entry["log"],
        resources={name: Resources(**used) for name, used in entry["resources"].items()},
        warnings=tuple(entry["warnings"]),
    )
