"""From a kernel's IR to machine code, by way of compiled kernels on disk: a source, its options and the compiler's
version are the key, a compilation is the entry.

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
from dataclasses import asdict, dataclass

from xdsl.ir import Attribute

from irc.codegen.images import compilation_of
from irc.codegen.nvrtc import Compilation, Refusal, Resources, compile_source, compiler_options, compiler_version
from irc.codegen.printer import print_kernels
from irc.codegen.users_code import check_entry, header_options, users_error
from irc.dialects.cuda import KernelOp
from irc.support import cache as store
from irc.support.diagnostics import IrcError

KIND = "cubin"
"""The name of the entries' folder."""

FORMAT = 2
"""Of an entry; another one is not read."""


LINES = "--generate-line-info"
"""The option by which machine code says which line of its source each instruction is for."""

_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
"""Lines that name a place of the program: moving a statement changes no machine code, but the numbers of lines."""


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
    """A digest of all that a compilation depends on."""
    flags = (*compiler_options(arch), *options)
    digest = hashlib.sha256()
    hashed = source if LINES in options else _COMMENT.sub("", source)
    for part in (str(FORMAT), compiler_version(), *flags, hashed):
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


@dataclass(frozen=True)
class CompiledKernel:
    """One kernel: its CUDA C++, PTX and cubin, and what it uses (registers of a thread, bytes of the others)."""

    name: str
    source: str
    compilation: Compilation

    @property
    def ptx(self) -> str:
        return self.compilation.ptx

    @property
    def cubin(self) -> bytes:
        return self.compilation.cubin

    @property
    def resources(self) -> Resources:
        return self.compilation.resources[self.name]

    @property
    def registers(self) -> int:
        return self.resources.registers

    @property
    def spills(self) -> int:
        return self.resources.spills

    @property
    def static_shared(self) -> int:
        return self.resources.shared

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines of the compiler that say that it serialized wgmma."""
        return self.compilation.warnings


def compile_kernel(kernel: KernelOp, arch: str, options: Sequence[str] = ()) -> CompiledKernel:
    """Print and compile a kernel for an architecture such as `sm_90a`; IrcError where either does not work."""
    if kernel.image is not None:
        return CompiledKernel(kernel.sym_name.data, print_kernels([kernel]), compilation_of(kernel, arch))
    if kernel.code is not None:
        return _compile_users_code(kernel, arch, options)
    return compile_printed(kernel.sym_name.data, print_kernels([kernel]), kernel.location, arch, options)


def compile_printed(
    name: str, source: str, location: Attribute, arch: str, options: Sequence[str] = ()
) -> CompiledKernel:
    """Compile the source of a kernel, as `compile_kernel`."""
    compilation = compile_cached(source, arch, options, name=name, location=location)
    if name not in compilation.resources:
        raise IrcError(f"the compiler did not report the resources of {name}", location)
    return CompiledKernel(name, source, compilation)


def _compile_users_code(kernel: KernelOp, arch: str, options: Sequence[str]) -> CompiledKernel:
    name, source = kernel.sym_name.data, print_kernels([kernel])
    try:
        compilation = compile_cached(source, arch, (*options, *header_options()), name=name, location=kernel.location)
    except Refusal as refusal:
        raise users_error(kernel, refusal) from refusal
    check_entry(kernel, compilation)
    return CompiledKernel(name, source, compilation)
