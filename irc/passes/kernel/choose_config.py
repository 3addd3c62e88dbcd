"""`choose-config`: fills the `#kernel.config` of each kernel by a heuristic; what the user set stays and is checked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError

from irc.analysis.alike import firsts
from irc.analysis.invariants import FUSED
from irc.analysis.op_classes import is_fusible
from irc.analysis.product_problem import product_of, written_before
from irc.configs.alone import tuned_config
from irc.configs.candidates import legal_config
from irc.configs.check import check_config
from irc.configs.product_instructions import accumulators, wgmma_operands
from irc.configs.wgmma import explain_plans
from irc.dialects.kernel import INSTRUCTIONS, Anchor, ConfigAttr, FusedOp
from irc.dialects.nd import CollectiveOp
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.ir.targets import Target, target_of
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class ChooseConfigPass(Pass):
    """Chooses tiles, stages and schedules: fills what #kernel.config leaves open. Kernels that compute the same get the
    same config, where the same of their operands are results of kernels. In a module that shares its GPU
    (`irc.shared_gpu`), blocks of products of warp groups take tiles while they run."""

    name: ClassVar[str] = "choose-config"
    requires = (FUSED,)
    instruction: str | None = None
    """What products are computed with where that is possible: `wgmma`, `tcgen05`, `mma`, `fma` or `direct`."""
    tuned: bool = False
    """Kernels that irc-tune has tuned get what it found; what the user set of their configs is part of what they are
    known by."""
    explain: bool = False
    """Print to stderr, for each product of warp groups, the plans with the fewest cycles by the model, best first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = target_of(op)
        if self.instruction is not None and self.instruction not in INSTRUCTIONS:
            expected = ", ".join(INSTRUCTIONS)
            raise IrcError(f"unknown instruction {self.instruction}", hint=f"choose-config knows {expected}")
        if not machine.exact_tiles:
            _check_supported(op)
        kernels = [inner for inner in ops_in(op) if isinstance(inner, FusedOp)]
        for kernel, first in firsts(kernels, lambda each: (each.config, written_before(each))):
            kernel.config = self._config(kernel, machine) if first is kernel else first.config
            if self.explain and kernel.kind is Anchor.MATMUL:
                print(_explain(kernel, machine), end="", file=sys.stderr)

    def _config(self, kernel: FusedOp, machine: Target) -> ConfigAttr:
        found = _tuned(kernel, machine) if self.tuned else None
        return found or legal_config(kernel, machine, self.instruction)


def _tuned(kernel: FusedOp, machine: Target) -> ConfigAttr | None:
    """What a tuner found, if it is legal for this kernel: it may be of another one of the same class of shapes, or of
    an earlier irc."""
    try:
        found = tuned_config(kernel, machine)
        if found is not None:
            check_config(kernel, found, machine)
        return found
    except (IrcError, ParseError):
        return None


def _explain(kernel: FusedOp, machine: Target) -> str:
    product, config = product_of(kernel), kernel.config
    operands = wgmma_operands(product)
    name = "kernel" if kernel.sym_name is None else kernel.sym_name.data
    sizes = f"{name}: {product.count} x {product.batch} x {product.m} x {product.n} x {product.k} {product.lhs.name}"
    assert config is not None
    if operands is None or config.instruction != "wgmma":
        return f"{sizes}: by {config.instruction}, whose tiles no model of cycles chooses\n"
    return f"{sizes}\n" + explain_plans(product, machine, sums=accumulators(product, operands), parts=operands.parts)


def _check_supported(module: ModuleOp) -> None:
    """IrcError where a function has an op outside kernels that GPUs do not run so far."""
    for function in [op for op in ops_in(module) if isinstance(op, FuncOp)]:
        for op in ops_in(function):
            is_alone = op.name.startswith("nd.") and not is_fusible(op) and not isinstance(op, CollectiveOp)
            if is_alone and not isinstance(op.parent_op(), FusedOp):
                hint = "compile it for the target cpu"
                raise IrcError(f"{op.name} runs on the cpu target only so far", location_of(op), hint)
