"""From a kernel's IR to machine code, by way of the on-disk cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.codegen.cache import compile_cached
from irc.codegen.nvrtc import Compilation, Resources
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.support.diagnostics import IrcError


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
    name = kernel.sym_name.data
    source = print_kernels([kernel])
    compilation = compile_cached(source, arch, options, name=name, location=kernel.location)
    if name not in compilation.resources:
        raise IrcError(f"the compiler did not report the resources of {name}", kernel.location)
    return CompiledKernel(name, source, compilation)
