"""Casts that round nothing between ops (`irc.dialects.nd.declared`)."""

from __future__ import annotations

from irc_frontend.graph import DEFERRED, Node
from irc_frontend.tensor import Tensor


def wide(x: Tensor) -> Tensor:
    """x in at least f32: what is stored between kernels stays narrow."""
    return deferred(x, "f32") if x.element in ("bf16", "f16") else x


def deferred(x: Tensor, element: str) -> Tensor:
    """The Tensor in another element type, by a cast that rounds nothing between ops."""
    if x.element == element:
        return x
    return Tensor.of(Node("cast", (x.node,), x.shape, element, ((DEFERRED, True),)))
