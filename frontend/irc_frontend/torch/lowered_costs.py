"""What IR says of an op that torch may do better. `costs` asks where irc's cache does not know: it loads dialects and
passes, which a warm start does without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Block

from irc.analysis.cascades import cascade_of
from irc.analysis.op_classes import is_product
from irc.analysis.window_operands import is_window_loadable
from irc.dialects import nd
from irc.dialects.kernel import Anchor, FusedOp
from irc.driver.lowering import levels
from irc.fusion.cascade_cost import cascade_cost
from irc.fusion.cascades import fits
from irc.ir.dtypes import element_named
from irc.ir.functions import entry_of
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, set_target, target_of
from irc.support.integers import round_up
from irc_frontend.build import build_module
from irc_frontend.graph import Node


def has_window(attributes: Mapping[str, Any], x: Node, weights: Sequence[int], element: str) -> bool:
    """Whether TMA brings the pixels of a convolution's window, with channels last in rows that are filled with zeros.
    weights: the extents of the kernel, outputs first; element: of the result."""
    last = [0, len(x.shape) - 1, *range(1, len(x.shape) - 1)]
    channels = round_up(x.shape[1], TENSOR_MAP_ALIGNMENT // element_named(x.element).size)
    shapes = [x.shape[0], *x.shape[2:], channels], [weights[0], *weights[2:], channels]
    values = Block(arg_types=[nd.tensor(shape, element_named(x.element)) for shape in shapes]).args
    orders = {"x_axes": last, "kernel_axes": last, "result_axes": last}
    op = nd.ConvOp(*values, **{**attributes, **orders}, element=element_named(element))
    return is_window_loadable(op, 0)


def why_in_several(order: Sequence[Node], roots: Sequence[Node], arguments: Sequence[Node], arch: str) -> str | None:
    """Why attention is several kernels; None where it is one."""
    module = build_module(order, roots, arguments)
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
