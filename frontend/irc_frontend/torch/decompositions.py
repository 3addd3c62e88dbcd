"""What AOTAutograd takes apart before irc sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions

from irc_frontend.torch.factorizations import FACTORIZATIONS
from irc_frontend.torch.histograms import HISTOGRAMS
from irc_frontend.torch.singular_values import SINGULAR
from irc_frontend.torch.symmetric_factorizations import SYMMETRIC

aten = torch.ops.aten

KEPT = [
    aten._scaled_dot_product_flash_attention_for_cpu.default,  # one op of torch, where its parts are many
    aten._weight_norm_interface.default,  # whose parts round lengths to bf16
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
    aten._log_softmax.default,  # its gradient reads x and two numbers a row, in place of what it gives in f32
    aten.batch_norm_backward.default,
    aten.dist.default,
    aten.linalg_vector_norm.default,
    aten.narrow_copy.default,
    aten.unbind_copy.int,
    aten.upsample_bilinear2d.vec,
    aten.upsample_nearest2d.vec,
    aten.view_copy.default,
]
"""Ops that torch keeps whole in core ATen, and whose parts irc has."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """torch's own into core ATen ops, with those that irc has the parts of, without those that are better whole."""
    table = dict(core_aten_decompositions().items())
    table.update(get_decompositions(TAKEN_APART))
    for op in KEPT:
        table.pop(op, None)
    return {**table, **FACTORIZATIONS, **SYMMETRIC, **SINGULAR, **HISTOGRAMS, **_of_bags(), **dict(_of_lists())}


def _of_bags() -> dict[Any, Callable[..., Any]]:
    """Sums of rows of a matrix that does not lie row by row: of a copy that does, of which torch keeps the same as irc
    for the gradient."""

    def dense(op: Any, weight: Tensor, *arguments: Any, **options: Any) -> Any:
        tensors = [each for each in arguments if isinstance(each, Tensor)]
        if weight.is_cuda or all(each.is_contiguous() for each in (weight, *tensors)):
            return NotImplemented
        arguments = tuple(each.contiguous() if isinstance(each, Tensor) else each for each in arguments)
        return op(weight.contiguous(), *arguments, **options)

    ops = (aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
    return {op: partial(dense, op) for op in ops}


def _of_lists() -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Ops on lists of tensors, of which torch's optimizers are made, as ops on each: irc fuses these as any others."""
    # `dir(aten)` has those that were asked for before.
    listed = torch._C._dispatch_get_all_op_names()  # pyright: ignore[reportPrivateUsage]
    names = {name.removeprefix("aten::").split(".")[0] for name in listed if name.startswith("aten::_foreach_")}
    for name in sorted(names):
        function = _OF_EACH.get(name, getattr(torch, name.removeprefix("_foreach_"), None))
        if name.endswith("_") or function is None:
            continue
        packet = getattr(aten, name)
        for overload in [getattr(packet, each) for each in packet.overloads()]:
            schema = overload._schema
            is_of_lists = isinstance(schema.returns[0].type, torch.ListType) if schema.returns else False
            if is_of_lists and (name, overload._overloadname) not in _LEFT:
                yield overload, partial(_of_each, function)


_OF_EACH: dict[str, Callable[..., Any]] = {
    "_foreach_norm": torch.linalg.vector_norm,
    "_foreach_copy": torch.ops.aten.copy.default,
    "_foreach_maximum": lambda x, y: torch.maximum(x, y) if isinstance(y, Tensor) else torch.clamp_min(x, y),
    "_foreach_minimum": lambda x, y: torch.minimum(x, y) if isinstance(y, Tensor) else torch.clamp_max(x, y),
    "_foreach_addcmul": lambda x, a, b, scalar=1, value=1: torch.addcmul(x, a, b, value=scalar * value),
    "_foreach_addcdiv": lambda x, a, b, scalar=1, value=1: torch.addcdiv(x, a, b, value=scalar * value),
}
"""What those do to each tensor that torch calls otherwise."""

_LEFT = [(name, "Tensor") for name in ("_foreach_addcmul", "_foreach_addcdiv")]
"""Overloads that take numbers in one tensor."""


def _of_each(function: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
    """The function of each tensor of lists, with what is in no list."""
    count = max(len(each) for each in arguments if isinstance(each, list | tuple))
    spread = [each if isinstance(each, list | tuple) else [each] * count for each in arguments]
    return [function(*each, **options) for each in zip(*spread, strict=True)]
