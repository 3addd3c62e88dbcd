"""The target `cpu`: from an nd module to machine code of this CPU."""

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from irc.codegen.cpu.compiling import Loaded, assemble, functions, has_pairs
from irc.codegen.cpu.printer import Code, print_kernel
from irc.codegen.cpu.threads import FUNCTIONS, pool_text
from irc.dialects.cpu import GemmOp, KernelOp
from irc.driver.lowering import levels
from irc.driver.program import signature
from irc.driver.reports import timed
from irc.driver.reproducers import reproducing
from irc.ir.functions import entry_of
from irc.runtime.cpu import CpuKernel, CpuProgram
from irc.runtime.executable import Executable
from irc.runtime.host import HostProgram
from irc.runtime.threads import PoolCode
from irc.support.garbage import seldom_collecting


def compile_on_cpu(module: ModuleOp, **options: Any) -> Executable:
    """Compiles a module with one nd function, which is for the architecture `cpu`, and is lowered in place. `options`
    as for `levels`."""
    entry = entry_of(module)
    name, (arguments, results) = entry.sym_name.data, signature(entry)
    with seldom_collecting():
        for _ in levels(module, ("cpu",), **options):
            pass
        with reproducing(module, "asm"):
            kernels = timed("machine code", lambda: _loaded(module))
    program = HostProgram(arguments, results, CpuProgram(module, kernels))
    return Executable(name, "cpu", arguments, results, program)


def codes_of(module: ModuleOp) -> list[Code]:
    """The kernels of a module as LLVM IR for this CPU."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    return [print_kernel(op, has_pairs=has_pairs(), functions=functions()) for op in kernels]


def _loaded(module: ModuleOp) -> dict[str, CpuKernel]:
    """The kernels of a module in memory."""
    ops = [op for op in module.ops if isinstance(op, KernelOp)]
    if not ops:
        return {}
    codes = codes_of(module)
    multiplies = {op.sym_name.data for op in ops if any(isinstance(inner, GemmOp) for inner in op.walk())}
    loaded = Loaded(assemble([code.text for code in codes]), [code.name for code in codes], multiplies=bool(multiplies))
    return {
        code.name: CpuKernel(
            loaded.address(code.name),
            op.tile_count,
            code.own_bytes,
            code.name in multiplies,
            tuple((check.expected, check.location) for check in code.checks),
            loaded,
            pool_code,
        )
        for op, code in zip(ops, codes, strict=True)
    }


@cache
def pool_code() -> PoolCode:
    """The code of pools of threads in memory."""
    loaded = Loaded(assemble([pool_text()]), FUNCTIONS, multiplies=False)
    begin, finish, serve = map(loaded.address, FUNCTIONS)
    return PoolCode(begin, finish, serve, loaded)
