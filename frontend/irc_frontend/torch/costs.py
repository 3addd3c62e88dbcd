"""What irc could do on a GPU, and torch does better."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import cast

from irc.analysis.cascades import cascade_of
from irc.analysis.op_classes import is_product
from irc.decomposition.indexed import comparisons
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.compiler import resolve_arch
from irc.driver.lowering import levels
from irc.fusion.cascade_cost import cascade_cost
from irc.fusion.cascades import fits
from irc.ir.functions import entry_of
from irc.ir.targets import set_target, target_of
from irc_frontend.build import build_module
from irc_frontend.graph import ARGUMENT, Node, sorted_nodes, structure

MAX_COMPARISONS = 1 << 32
"""Of the places and the indices of a scatter on a GPU; an H200 makes so many in 3 ms."""

_ATTENTION = ("attention", "attention_weights")


def why_slow(results: Iterable[Node]) -> str | None:
    """Why these results are torch's on a GPU; None where irc computes them as well."""
    order = sorted_nodes(results)
    scatters = filter(None, map(_why_scattered, order))
    if (reason := next(scatters, None)) is not None:
        return reason
    return _why_several(order, results) if _is_attention(order) else None


def _is_attention(order: Iterable[Node]) -> bool:
    """Also one that is written out, as products."""
    ops = [node.op for node in order]
    return ops.count("matmul") > 1 or any(op in _ATTENTION for op in ops)


def _why_scattered(node: Node) -> str | None:
    """irc's sums in a fixed order may take much longer than torch's, which are in any."""
    if node.op != "scatter_add":
        return None
    axis = cast("int", dict(node.attributes)["axis"])
    places, count = node.shape[axis], math.prod(list(node.operands)[1].shape)
    if not places or comparisons(places, count, math.prod(node.shape) // places) <= MAX_COMPARISONS:
        return None
    return f"a scatter of {count} to {places} places, too many to compare"


_known: dict[Hashable, str | None] = {}


def _why_several(order: list[Node], results: Iterable[Node]) -> str | None:
    """Attention whose scores go through memory is torch's: it has one kernel for all."""
    arch, roots = resolve_arch(None), list(results)
    key = arch, structure(order, roots)
    if key not in _known:
        _known[key] = _in_several(order, roots, arch)
    return _known[key]


def _in_several(order: list[Node], roots: list[Node], arch: str) -> str | None:
    module = build_module(order, roots, [node for node in order if node.op == ARGUMENT])
    set_target(module, arch)
    reasons: list[str] = []
    for level, lowered in levels(module, ["nd", "kernel"]):
        if level == "nd":
            machine = target_of(lowered)
            cascades = [cascade_of(op) for op in entry_of(lowered).body.block.ops if is_product(op)]
            known = [cascade for cascade in cascades if cascade is not None]
            reasons = [str(cascade_cost(each, machine)) for each in known if fits(each, machine)]
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    if not any(kernel.kind is Anchor.MATMUL for kernel in kernels):
        return None
    why = f" ({reasons[-1]})" if reasons else ""
    return f"attention in several kernels{why}"
