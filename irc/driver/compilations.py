"""Kernels that NVRTC compiles in threads while passes go on: it does not hold the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from types import TracebackType
from typing import Self

from xdsl.ir import Attribute

from irc.codegen import CompiledKernel, compile_kernel
from irc.codegen.compiling import compile_printed
from irc.dialects.cuda import KernelOp
from irc.ir.blocks import ops_in
from irc.support.processors import processor_count


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads of all programs that are compiled at a time, one for each processor: more would take time from passes."""
    return ThreadPoolExecutor(processor_count(), "irc machine code")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of the threads


Compiling = Callable[[], CompiledKernel]
"""Waits for a kernel that a thread compiles. What was canceled is compiled then."""


class Compilations:
    """The kernels of a program. What has not begun when the block ends by an exception is canceled."""

    def __init__(self) -> None:
        self._begun: list[Future[CompiledKernel]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is not None:
            self.cancel()

    def begin(self, kernels: Sequence[KernelOp], arch: str, options: Sequence[str] = ()) -> list[Compiling]:
        """Compiles these kernels, which do not change any more, the largest first, so that none is left alone in the
        end. `options` are added to the compiler's."""
        largest = sorted(kernels, key=lambda kernel: -len(ops_in(kernel)))
        made = {kernel: self._submitted(partial(compile_kernel, kernel, arch, options)) for kernel in largest}
        return [made[kernel] for kernel in kernels]

    def begin_printed(
        self, name: str, source: str, location: Attribute, arch: str, options: Sequence[str] = ()
    ) -> Compiling:
        """Compiles the source of a kernel."""
        return self._submitted(partial(compile_printed, name, source, location, arch, options))

    def cancel(self) -> None:
        """Lets go of what has not begun, and waits for what has."""
        wait([each for each in self._begun if not each.cancel()])

    def _submitted(self, compile: Compiling) -> Compiling:
        future = _pool().submit(compile)
        self._begun.append(future)

        def compiled() -> CompiledKernel:
            return compile() if future.cancelled() else future.result()

        return compiled
