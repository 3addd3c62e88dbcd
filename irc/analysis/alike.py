"""Kernels that compute the same: layers repeat, and what is known of the first of them holds for the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from irc.dialects.kernel import FusedOp


def firsts(kernels: Iterable[FusedOp], also: Callable[[FusedOp], Hashable]) -> list[tuple[FusedOp, FusedOp]]:
    """Each kernel, and the first one whose anchor, body and types are the same, in which operands are the same ones at
    the same places, and of which `also` gives the same: what is of no matter to the kernels' values. Kernels are
    compared as they are now."""
    alike: dict[Hashable, list[FusedOp]] = {}
    found: list[tuple[FusedOp, FusedOp]] = []
    for kernel in kernels:
        inputs = list(kernel.inputs)
        types = tuple(value.type for value in (*inputs, *kernel.outputs))
        names = tuple(op.name for op in kernel.block.ops)
        key = kernel.kind, types, tuple(map(inputs.index, inputs)), names, also(kernel)
        others = alike.setdefault(key, [])
        first = next((other for other in others if kernel.body.is_structurally_equivalent(other.body)), kernel)
        if first is kernel:
            others.append(kernel)
        found.append((kernel, first))
    return found
