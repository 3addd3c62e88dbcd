"""Where elements are, and parts of arrays whose places are computed, on Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend import indexed, indexing
from irc_frontend.elementwise_functions import where
from irc_frontend.functions import broadcast_to, scatter_add, take
from irc_frontend.graph import fail
from irc_frontend.making_functions import arange, full
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = ["dynamic_slice", "dynamic_update_slice", "nonzero"]

Starts = Any
"""An integer or a Tensor without axes for each axis, or a Tensor of them."""


def nonzero(x: Like, size: int | None = None, fill_value: int = 0) -> tuple[Tensor, ...]:
    """The i64 indices of the elements that are not 0, an array for each axis.

    How many there are is a shape: without `size` the values are computed now. With it there are `size` of them, the
    first ones, and then `fill_value`: that can be recorded."""
    tensor = Tensor.of(node_of(x))
    mask = tensor if tensor.node.is_bool else tensor != 0
    if size is None:
        return tuple(map(Tensor.of, indexing.known_places(mask.node)))
    flat = mask.flatten()
    turn = flat.astype("i64").cumsum() - 1
    slots = where(flat & (turn < size), turn, size)
    here = scatter_add(full(size + 1, 0, "i64"), slots, arange(flat.size), 0, "clip")[:size]
    is_one = arange(size) < flat.astype("i64").sum()
    found: list[Tensor] = []
    for extent in reversed(mask.shape):
        found.insert(0, where(is_one, here % extent, fill_value))
        here = here // extent
    return tuple(found)


def dynamic_slice(x: Like, starts: Starts, sizes: Sequence[int]) -> Tensor:
    """`sizes[i]` elements from `starts[i]` on along each axis, where starts are computed; a part that is not in x is an
    error of the run."""
    tensor = Tensor.of(node_of(x))
    for axis, (start, size) in enumerate(_parts(tensor, starts, sizes)):
        if size != tensor.shape[axis] or not isinstance(start, int):
            tensor = take(tensor, start + arange(size), axis, "clip")
    return tensor


def dynamic_update_slice(x: Like, values: Like, starts: Starts) -> Tensor:
    """x with `values`, cast to its element type, from `starts[i]` on along each axis; a part that is not in x is an
    error of the run."""
    tensor = Tensor.of(node_of(x))
    update = Tensor.of(node_of(values)).astype(tensor.element)
    is_there: Tensor | None = None
    for axis, (start, size) in enumerate(_parts(tensor, starts, update.shape)):
        place = arange(tensor.shape[axis]) - start
        update = take(update, place, axis, "clip")
        inside = ((place >= 0) & (place < size)).reshape([-1 if each == axis else 1 for each in range(tensor.ndim)])
        is_there = inside if is_there is None else is_there & inside
    return update if is_there is None else where(broadcast_to(is_there, tensor.shape), update, tensor)


def _parts(x: Tensor, starts: Starts, sizes: Sequence[int]) -> list[tuple[int | Tensor, int]]:
    """The start, which is checked, and the size along each axis."""
    listed: Sequence[Any] = (
        list(starts) if isinstance(starts, list | tuple) else [starts[i] for i in range(len(starts))]
    )
    if len(listed) != x.ndim or len(sizes) != x.ndim:
        raise fail(f"a part of {x.node.type} has {x.ndim} starts and sizes, found {len(listed)} and {len(sizes)}")
    found: list[tuple[int | Tensor, int]] = []
    for start, size, extent in zip(listed, sizes, x.shape, strict=True):
        if not 0 <= size <= extent or (isinstance(start, int) and not 0 <= start <= extent - size):
            raise fail(f"a part of {size} elements from {start} on is not in an extent of {extent}")
        known = isinstance(start, int)
        place = start if known else Tensor.of(indexed.checked(node_of(start), 0, extent - size + 1)).astype("i64")
        found.append((place, size))
    return found
