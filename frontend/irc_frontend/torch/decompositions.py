"""What AOTAutograd takes apart before irc sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

aten = torch.ops.aten

KEPT = [
    aten._scaled_dot_product_flash_attention_for_cpu.default,  # one op of torch, where its parts are many
    aten.embedding_dense_backward.default,
    aten.index_add.default,  # which counts no index from the end, as its parts do
    aten.native_group_norm_backward.default,  # which adds what may cancel: x, not its distance from the mean
    aten.index_fill.int_Tensor,  # whose parts ask for the number in an array
    aten.take.default,
    aten.unfold_copy.default,
    aten.select_scatter.default,
    aten.stack.default,
]
"""Ops that torch would take apart, and that have a rule or a fast form of their own."""


TAKEN_APART = [
    aten._batch_norm_with_update_functional.default,
    aten.batch_norm_backward.default,
    aten.dist.default,
    aten.linalg_vector_norm.default,
    aten.narrow_copy.default,
    aten.unbind_copy.int,
    aten.view_copy.default,
]
"""Ops that torch keeps whole in core ATen, and whose parts irc has."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """torch's own into core ATen ops, with those that irc has the parts of, without those that are better whole."""
    table = dict(core_aten_decompositions().items())
    table.update(get_decompositions(TAKEN_APART))
    for op in KEPT:
        table.pop(op, None)
    return table
