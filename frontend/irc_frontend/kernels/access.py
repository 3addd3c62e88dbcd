"""What an index of tiles, positions, slices and integers says: the part of an array that a tile is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from irc_frontend.graph import Node, fail
from irc_frontend.kernels.indices import Index, LoopTile
from irc_frontend.slicing import keys_of
from irc_frontend.structure import reshape
from irc_frontend.tensor import Tensor


@dataclass(frozen=True)
class TileAccess:
    """A part of an array. dims: the tile of each axis of what is loaded, None where it is a slice. map: from the
    elements of the tile and the positions `given`, numbers of the trace's symbols, and behind them those of `gathers`,
    tiles of integers each with an axis of the tile, to the array. checked: axes of the array that a tile may go beyond.
    added: an index that gives new axes, None where there are none. symbols: all loops' positions that it depends on."""

    array: Node
    dims: tuple[LoopTile | None, ...]
    shape: tuple[int, ...]
    map: AffineMap
    given: tuple[int, ...]
    gathers: tuple[tuple[Node, int], ...]
    checked: tuple[int, ...]
    added: tuple[Any, ...] | None

    @property
    def key(self) -> Hashable:
        """What accesses of the same elements share."""
        dims = tuple(None if dim is None else dim.number for dim in self.dims)
        return self.array, dims, self.shape, self.map, self.given, self.gathers

    @property
    def symbols(self) -> tuple[int, ...]:
        return (*self.given, *(dim.number for dim in self.dims if dim is not None))

    @property
    def whole(self) -> tuple[int, ...]:
        """The extents of the axes that are slices, and not the tile of a loop or of integers."""
        gathered = {axis for _, axis in self.gathers}
        axes = enumerate(zip(self.shape, self.dims, strict=True))
        return tuple(extent for axis, (extent, dim) in axes if dim is None and axis not in gathered)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """With the new axes."""
        if self.added is None:
            return self.shape
        extents = iter(self.shape)
        return tuple(1 if key is None else next(extents) for key in self.added)

    def squeezed(self, node: Node) -> Node:
        return reshape(node, self.shape)


def access_of(array: Node, key: Any, ranges: Sequence[range]) -> TileAccess:
    """The access of an index. IrcError where it is none of the array. ranges: the values of the trace's symbols."""
    reader = _Reader(array, ranges)
    for each in keys_of(array, key):
        reader.add(each)
    return reader.access()


def turned(
    keys: Sequence[Any], permutation: Sequence[int]
) -> tuple[tuple[Any, ...], list[int], tuple[Any, ...] | None]:
    """An index of a permuted array as one of the array itself, the order that the first one has of the axes of what it
    gives, and an index that gives new axes, if there are any."""
    named = [each for each in keys if each is not None]
    own = tuple(named[permutation.index(axis)] for axis in range(len(named)))
    kept = [axis for axis in permutation if _keeps_axis(own[axis])]
    order = [sorted(kept).index(axis) for axis in kept]
    added = tuple(None if each is None else slice(None) for each in keys if each is None or _keeps_axis(each))
    return own, order, added if None in added else None


def _keeps_axis(key: Any) -> bool:
    return isinstance(key, LoopTile | slice | Tensor)


class _Reader:
    """An index, read key by key."""

    def __init__(self, array: Node, ranges: Sequence[range]):
        self._array = array
        self._ranges = ranges
        self._dims: list[LoopTile | None] = []
        self._shape: list[int] = []
        self._results: list[AffineExpr] = []
        self._checked: list[int] = []
        self._added: list[Any] = []
        self._gathers: list[tuple[Node, int]] = []

    def add(self, key: Any) -> None:
        axis = len(self._results)
        if key is None:
            self._added.append(None)
        elif isinstance(key, LoopTile):
            _check_dim(key, self._array, axis)
            self._axis(key, key.step, 0, checked=key.is_ragged)
        elif isinstance(key, slice):
            found = range(*key.indices(self._array.shape[axis]))
            if found.step != 1 or not found:
                raise fail("a slice of a tile has a step of 1, and elements", "index by the tiles of a loop instead")
            self._axis(None, len(found), found.start, checked=False)
        elif isinstance(key, Tensor):
            self._gather(key.node)
        else:
            self._position(key, axis, self._array.shape[axis])

    def _axis(self, dim: LoopTile | None, extent: int, start: int, *, checked: bool) -> None:
        dimension = AffineExpr.dimension(len(self._dims))
        if checked:
            self._checked.append(len(self._results))
        self._results.append(dimension + start if start else dimension)
        self._dims.append(dim)
        self._shape.append(extent)
        self._added.append(slice(None))

    def _gather(self, node: Node) -> None:
        if not node.is_integer or node.rank != 1:
            raise fail(
                f"an array is indexed by tiles of integers along one axis, found {node.type}", "table[ids[m], :]"
            )
        self._checked.append(len(self._results))
        self._results.append(AffineExpr.symbol(len(self._ranges) + len(self._gathers)))
        self._gathers.append((node, len(self._dims)))
        self._dims.append(None)
        self._shape.append(node.shape[0])
        self._added.append(slice(None))

    def _position(self, key: Any, axis: int, extent: int) -> None:
        expr = _position(key, extent)
        low, high = _bounds(expr, self._ranges)
        if low < 0 or high >= extent:
            self._checked.append(axis)
        self._results.append(expr)

    def access(self) -> TileAccess:
        symbols = {e.position for each in self._results for e in each.dfs() if isinstance(e, AffineSymExpr)}
        used = sorted(number for number in symbols if number < len(self._ranges))
        order = [*used, *range(len(self._ranges), len(self._ranges) + len(self._gathers))]
        renamed: list[AffineExpr] = [
            AffineExpr.symbol(order.index(number)) if number in order else AffineExpr.constant(0)
            for number in range(len(self._ranges) + len(self._gathers))
        ]
        identity: list[AffineExpr] = [AffineExpr.dimension(number) for number in range(len(self._dims))]
        results = tuple(each.replace_dims_and_symbols(identity, renamed) for each in self._results)
        return TileAccess(
            self._array,
            tuple(self._dims),
            tuple(self._shape),
            AffineMap(len(self._dims), len(order), results),
            tuple(used),
            tuple(self._gathers),
            tuple(self._checked),
            tuple(self._added) if None in self._added else None,
        )


def _bounds(expr: AffineExpr, ranges: Sequence[range]) -> tuple[int, int]:
    """The least and the greatest value of a position."""
    match expr:
        case AffineConstantExpr():
            return expr.value, expr.value
        case AffineSymExpr():
            return ranges[expr.position][0], ranges[expr.position][-1]
        case AffineBinaryOpExpr():
            (a, b), (c, d) = _bounds(expr.lhs, ranges), _bounds(expr.rhs, ranges)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return a + c, b + d
                case AffineBinaryOpKind.Mul:
                    ends = [x * y for x in (a, b) for y in (c, d)]
                    return min(ends), max(ends)
                case AffineBinaryOpKind.FloorDiv:
                    return a // c, b // c
                case _:
                    return (a, b) if a >= 0 and b < c else (0, c - 1)
        case _:
            raise AssertionError(expr)


def _check_dim(dim: LoopTile, array: Node, axis: int) -> None:
    extent = array.shape[axis]
    if dim.extent != extent and (dim.extent > extent or dim.is_ragged):
        raise fail(
            f"the tiles {dim.name} are of {dim.extent} elements, and axis {axis} of {array.type} has {extent}",
            f"loop over tiles({extent})",
        )


def _position(key: Any, extent: int) -> AffineExpr:
    if isinstance(key, Index):
        if key.limit is not None:
            raise fail("the end of a tile is no element", "use begin")
        return key.expr
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise fail(
            f"an array is indexed by tiles, positions, slices and integers in a kernel, found {type(key).__name__}"
        )
    position = key.__index__()
    if not -extent <= position < extent:
        raise fail(f"index {position} is out of range for an extent of {extent}")
    return AffineExpr.constant(position % extent)
