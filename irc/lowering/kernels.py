"""Passes on kernels."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.dialects.cuda import KernelOp
from irc.ir.passes import Pass


class KernelPass(Pass):
    """A pass that runs on each kernel of a module by itself."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in op.ops if isinstance(each, KernelOp)]:
            self.run(kernel)

    def run(self, kernel: KernelOp) -> None:
        """Changes the kernel."""
        raise NotImplementedError
