"""Rules of ops that move elements. Those in VIEWS are views in torch: they cost nothing there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.elementwise import Number
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import common_element
from irc_frontend.torch.rules import Left, as_stored, rule

aten = torch.ops.aten

VIEWS = frozenset(
    [
        aten.alias.default,
        aten.detach.default,
        aten.view.default,
        aten.permute.default,
        aten.t.default,
        aten.transpose.int,
        aten.expand.default,
        aten.slice.Tensor,
        aten.select.int,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.squeeze.default,
        aten.unsqueeze.default,
        aten.split_with_sizes.default,
        aten.split.Tensor,
        aten.unbind.int,
        aten.diagonal.default,
        aten.unfold.default,
    ]
)


@rule(
    aten.alias.default,
    aten.detach.default,
    aten.clone.default,
    aten.lift_fresh_copy.default,
    aten.contiguous.default,
    aten.positive.default,
)
def _same(x: Tensor, memory_format: Any = None) -> Tensor:
    return x


@rule(aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten._reshape_copy.default)
def _view(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.reshape(tuple(shape)) if x.size else ir.zeros([max(0, extent) for extent in shape], x.element)


@rule(aten.permute.default, aten.permute_copy.default)
def _permute(x: Tensor, dims: Sequence[int]) -> Tensor:
    return x.permute(tuple(dims)) if x.ndim else x


@rule(aten.t.default)
def _t(x: Tensor) -> Tensor:
    return x.T


@rule(aten.transpose.int)
def _transpose(x: Tensor, a: int, b: int) -> Tensor:
    return x.swapaxes(a, b) if x.ndim else x


@rule(aten.expand.default, aten.expand_copy.default)
def _expand(x: Tensor, shape: Sequence[int], implicit: bool = False) -> Tensor:
    new = len(shape) - x.ndim
    extents = [x.shape[axis - new] if extent == -1 else extent for axis, extent in enumerate(shape)]
    return ir.broadcast_to(x, extents)


@rule(aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default)
def _squeeze(x: Tensor, dims: int | Sequence[int] | None = None) -> Tensor:
    if not x.ndim:
        return x
    named = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    return x.squeeze([dim for dim in named if x.shape[dim] == 1])


rule(aten.unsqueeze.default)(ir.expand_dims)


@rule(aten.slice.Tensor, aten.slice_copy.Tensor)
def _slice(x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return x[_at(x, dim, slice(start, end, step))]


def _at(x: Tensor, dim: int, key: Any) -> tuple[Any, ...]:
    """The index that has `key` on one axis."""
    return (*[slice(None)] * (dim % x.ndim), key)


@rule(aten.select.int, aten.select_copy.int)
def _select(x: Tensor, dim: int, index: int) -> Tensor:
    return x[_at(x, dim, index)]


@rule(aten.split_with_sizes.default, aten.split_with_sizes_copy.default)
def _split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return tuple(x[_at(x, dim, slice(start, start + size))] for start, size in zip(starts, sizes, strict=True))


@rule(aten.split.Tensor)
def _split(x: Tensor, size: int, dim: int = 0) -> tuple[Tensor, ...]:
    extent = x.shape[dim]
    return tuple(x[_at(x, dim, slice(start, start + size))] for start in range(0, max(extent, 1), max(size, 1)))


@rule(aten.unbind.int)
def _unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(x[_at(x, dim, position)] for position in range(x.shape[dim]))


rule(aten.diagonal.default)(ir.diagonal)


@rule(aten.unfold.default, aten.unfold_copy.default)
def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    """The windows along an axis, their elements as a new last axis."""
    if not x.ndim:
        return ir.broadcast_to(x, (size,))
    axis = dim % x.ndim
    starts = ir.arange((x.shape[axis] - size) // step + 1) * step
    places = starts.reshape(-1, 1) + ir.arange(size)
    return ir.moveaxis(ir.take(x, places, axis, mode="clip"), axis + 1, -1)


@rule(
    aten.replication_pad1d_backward.default,
    aten.replication_pad2d_backward.default,
    aten.replication_pad3d_backward.default,
)
def _replication_pad_backward(grad: Tensor, x: Tensor, pad: Sequence[int]) -> Tensor:
    """Along each padded axis, what lies in front of the first element and behind the last is added to it."""
    total = wide(grad)
    for number in range(len(pad) // 2):
        axis, (low, high) = x.ndim - 1 - number, pad[2 * number : 2 * number + 2]
        extent, before, behind = total.shape[axis], max(0, low), max(0, high)
        inner = total[_at(x, axis, slice(before, extent - behind))]
        inner = ir.pad(inner, [(max(0, -low), max(0, -high)) if each == axis else (0, 0) for each in range(x.ndim)])
        for outside, place in ((slice(0, before), 0), (slice(extent - behind, None), x.shape[axis] - 1)):
            edge = total[_at(x, axis, outside)].sum(axis, keepdims=True)
            widths = [(place, x.shape[axis] - 1 - place) if each == axis else (0, 0) for each in range(x.ndim)]
            inner = inner + ir.pad(edge, widths)
        total = inner
    return total


@rule(aten.cat.default)
def _cat(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """torch lets arrays of no elements and one axis pass."""
    element = common_element(*parts)
    kept = [part for part in parts if part.shape != (0,)] or list(parts[:1])
    return ir.concatenate([part.astype(element) for part in kept], dim)


@rule(aten.stack.default)
def _stack(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    element = common_element(*parts)
    return ir.stack([part.astype(element) for part in parts], dim)


@rule(aten.flip.default)
def _flip(x: Tensor, dims: Sequence[int]) -> Tensor:
    return ir.flip(x, tuple(dims)) if x.ndim and dims else x


@rule(aten.repeat.default)
def _repeat(x: Tensor, repeats: Sequence[int]) -> Tensor:
    return ir.tile(x, tuple(repeats)) if repeats else x


@rule(aten.constant_pad_nd.default)
def _constant_pad(x: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """`pad` has pairs from the last axis on; negative widths cut. Numbers below 0 do not wrap, as they do elsewhere."""
    if x.element.startswith("u") and value < 0:
        raise Left(f"{value} as {x.element}")
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[-2::-2], pad[::-2], strict=True))
    ranges = zip(pairs, x.shape, strict=True)
    cut = x[tuple(slice(max(0, -low), extent - max(0, -high)) for (low, high), extent in ranges)]
    return ir.pad(
        cut, [(max(0, low), max(0, high)) for low, high in pairs], constant_values=as_stored(value, x.element)
    )


@rule(aten.slice_scatter.default)
def _slice_scatter(
    x: Tensor, source: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """x with `source` in place of a slice."""
    axis = dim % x.ndim
    found = range(x.shape[axis])[slice(start, end, step)]
    if not len(found):
        return x
    inside = source.astype(x.element)
    if step != 1:
        return ir.where(_on(x, axis, found), _spread(x, inside, axis, found), x)
    before, after = x[_at(x, axis, slice(0, found.start))], x[_at(x, axis, slice(found.stop, None))]
    return ir.concatenate([part for part in (before, inside, after) if part.shape[axis]], axis)


def _on(x: Tensor, axis: int, found: range) -> Tensor:
    """Which positions along an axis the range has, to be broadcast."""
    places = ir.arange(x.shape[axis])
    on = (places >= found.start) & (places < found.stop) & ((places - found.start) % found.step == 0)
    return on.reshape(*[-1 if axis == other else 1 for other in range(x.ndim)])


def _spread(x: Tensor, source: Tensor, axis: int, found: range) -> Tensor:
    """The source at the positions of the range, the nearest of it elsewhere."""
    return ir.take(source, (ir.arange(x.shape[axis]) - found.start) // found.step, axis, mode="clip")


@rule(aten.select_scatter.default)
def _select_scatter(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    at = index % x.shape[dim]
    return _slice_scatter(x, ir.expand_dims(source, dim % x.ndim), dim, at, at + 1)


@rule(aten.diagonal_scatter.default)
def _diagonal_scatter(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """x with `source` in place of a diagonal, by a look at each row: its element there is source[row - top]."""
    first, second = dim1 % x.ndim, dim2 % x.ndim
    order = [*(axis for axis in range(x.ndim) if axis not in (first, second)), first, second]
    moved = x.permute(order)
    rows, columns = moved.shape[-2:]
    if not source.size:
        return x
    row = ir.arange(rows)
    is_on = ir.equal(ir.expand_dims(row, 1) + offset, ir.arange(columns))
    of_row = ir.take(source.astype(x.element), row - max(0, -offset), source.ndim - 1, mode="clip")
    changed = ir.where(is_on, ir.expand_dims(of_row, of_row.ndim), moved)
    return changed.permute([order.index(axis) for axis in range(x.ndim)])


@rule(aten.roll.default)
def _roll(x: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    return ir.roll(x, shifts, dims if isinstance(dims, int) or dims else None)


rule(aten.tril.default)(ir.tril)
rule(aten.triu.default)(ir.triu)
