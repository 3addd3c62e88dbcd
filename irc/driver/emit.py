"""Output targets: what `irc-opt -t` prints instead of IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target


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

        output.write(print_module(module))


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
