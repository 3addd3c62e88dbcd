"""The target `cpu`: from an nd module to machine code of this CPU."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from irc.codegen.cpu.compiling import assemble, functions, has_pairs, vectors
from irc.codegen.cpu.printer import KernelText, print_kernel
from irc.codegen.cpu.threads import pool_text
from irc.dialects.cpu import KernelOp
from irc.driver.lowering import levels
from irc.driver.program import signature
from irc.driver.reports import timed
from irc.driver.reproducers import reproducing
from irc.ir.functions import entry_of
from irc.ir.locations import describe
from irc.runtime.artifact import Artifact
from irc.runtime.cpu import KERNELS, POOL
from irc.runtime.cpu_plan import Check, CpuKernel
from irc.runtime.cpu_plan_reader import read_cpu_plan
from irc.support.garbage import seldom_collecting
from irc.support.llvm import host


def build_for_cpu(module: ModuleOp, **options: Any) -> Artifact:
    """Compiles a module with one nd function, which is for the architecture `cpu`, and is lowered in place. `options`
    as for `levels`."""
    arguments, results = signature(entry_of(module))
    with seldom_collecting():
        for _ in levels(module, ("cpu",), **options):
            pass
        with reproducing(module, "asm"):
            kernels, objects = timed("machine code", lambda: _machine_code(module))
        plan = read_cpu_plan(module, kernels, host())
    return Artifact(
        arch="cpu",
        arguments=arguments,
        results=results,
        plan=plan.to_json(),
        manifest={"kernels": []},
        kernels=(),
        objects=objects,
    )


def codes_of(module: ModuleOp) -> list[KernelText]:
    """The kernels of a module as LLVM IR for this CPU."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    return [print_kernel(op, vectors=vectors(), has_pairs=has_pairs(), functions=functions()) for op in kernels]


def pool_object() -> bytes:
    """The object file of the code of pools of threads."""
    return assemble([pool_text()])


def _machine_code(module: ModuleOp) -> tuple[list[CpuKernel], dict[str, bytes]]:
    """The kernels of a module, and its object files."""
    ops = [op for op in module.ops if isinstance(op, KernelOp)]
    if not ops:
        return [], {}
    codes = codes_of(module)
    kernels = [_kernel(op, code) for op, code in zip(ops, codes, strict=True)]
    return kernels, {KERNELS: assemble([code.text for code in codes]), POOL: pool_object()}


def _kernel(op: KernelOp, code: KernelText) -> CpuKernel:
    checks = tuple(Check(check.expected, describe(check.location)) for check in code.checks)
    return CpuKernel(code.name, op.tile_count, code.own_bytes, checks)
