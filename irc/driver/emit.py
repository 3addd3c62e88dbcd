"""Output targets: what `irc-opt -t` prints instead of IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class IrcTarget(Target):
    """`.irc` text of the module's `nd` functions; parsing it gives the same IR up to names and locations."""

    name = "irc"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from irc.language import print_module

        output.write(print_module(module))


@dataclass(frozen=True)
class CudaTarget(Target):
    """CUDA C++ of every `cuda.kernel` of the module, in one translation unit."""

    name = "cuda"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from irc.codegen import print_module

        _check_lowered(module, self.name)
        output.write(print_module(module))


@dataclass(frozen=True)
class AsmTarget(Target):
    """What machine code comes from, after it was made: PTX of every `cuda.kernel`, assembly of every `cpu.kernel`."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from irc.codegen.cpu.compiling import assembly
        from irc.driver.build import compiled_kernels
        from irc.driver.cpu import codes_of

        _check_lowered(module, self.name)
        output.writelines(f"{kernel.ptx}\n" for kernel in compiled_kernels(module))
        if codes := codes_of(module):
            output.write(assembly([code.text for code in codes]))


@dataclass(frozen=True)
class CutlassTarget(Target):
    """CUTLASS 3.x C++ of a matmul kernel of the kernel level, with a main that checks it. `kernel` is its name, where
    there are several."""

    name = "cutlass"
    kernel: str = ""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from irc.codegen.cutlass import print_module
        from irc.ir.extents import require_sizes

        require_sizes(module, "a CUTLASS file")
        output.write(print_module(module, self.kernel))


def _check_lowered(module: ModuleOp, target: str) -> None:
    """IrcError where no kernel is code, and there is work of which passes make kernels, or tile programs."""
    from irc.analysis.invariants import FUSED, TILED

    ops = list(module.walk())
    if any(op.name in ("cuda.kernel", "cpu.kernel") for op in ops):
        return
    program = next((op for op in ops if op.name == "tile.program"), None)
    if (left := FUSED.offender(module) or TILED.offender(module) or program) is not None:
        raise IrcError(f"-t {target} reads the code of kernels, found '{left.name}'", left.location, "run -p all first")
