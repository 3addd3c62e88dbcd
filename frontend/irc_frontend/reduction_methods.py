"""numpy's reductions as methods of Tensors."""

from __future__ import annotations

from typing import Any, Self

from irc_frontend import reduction
from irc_frontend.elementwise import Number, apply, astype
from irc_frontend.graph import Node, element_named, fail
from irc_frontend.leaves import leaf
from irc_frontend.partial_reduction import Part, reduce_part
from irc_frontend.shapes import Axes


class Reductions:
    """`where` is a mask of the elements that count, `initial` what they are joined with; `dtype` the element type of
    the result."""

    __slots__ = ()

    @property
    def node(self) -> Node:
        raise NotImplementedError

    @classmethod
    def of(cls, node: Node) -> Self:
        raise NotImplementedError

    def sum(
        self,
        axis: Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Number | None = None,
        where: Any = None,
    ) -> Self:
        return self._reduce("sum", axis, keepdims, dtype, initial, where)

    def prod(
        self,
        axis: Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Number | None = None,
        where: Any = None,
    ) -> Self:
        return self._reduce("prod", axis, keepdims, dtype, initial, where)

    def mean(self, axis: Axes = None, dtype: Any = None, keepdims: bool = False, where: Any = None) -> Self:
        return self._reduce("mean", axis, keepdims, dtype, where=where)

    def var(
        self,
        axis: Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        correction: int | None = None,
        ddof: int | None = None,
        where: Any = None,
    ) -> Self:
        """The mean square distance from the mean, of n - `correction` elements; numpy calls that number `ddof`, too."""
        if correction is not None and ddof is not None:
            raise fail("correction and ddof are two names of one number")
        return self._reduce("var", axis, keepdims, dtype, None, where, correction or ddof or 0)

    def std(
        self,
        axis: Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        correction: int | None = None,
        ddof: int | None = None,
        where: Any = None,
    ) -> Self:
        """The square root of `var`."""
        return self.of(apply("sqrt", self.var(axis, dtype, keepdims, correction, ddof, where).node))

    def max(self, axis: Axes = None, keepdims: bool = False, initial: Number | None = None, where: Any = None) -> Self:
        return self._reduce("max", axis, keepdims, None, initial, where)

    def min(self, axis: Axes = None, keepdims: bool = False, initial: Number | None = None, where: Any = None) -> Self:
        return self._reduce("min", axis, keepdims, None, initial, where)

    def any(self, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Self:
        return self._reduce("any", axis, keepdims, where=where)

    def all(self, axis: Axes = None, keepdims: bool = False, where: Any = None) -> Self:
        return self._reduce("all", axis, keepdims, where=where)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self.of(reduction.arg_reduce("argmax", self.node, axis, keepdims))

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Self:
        return self.of(reduction.arg_reduce("argmin", self.node, axis, keepdims))

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Self:
        """Without an axis, of the flattened array. The sums have its element type, or `dtype`."""
        return self._scan("cumsum", axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Self:
        """Without an axis, of the flattened array. The products have its element type, or `dtype`."""
        return self._scan("cumprod", axis, dtype)

    def _scan(self, op: str, axis: int | None, dtype: Any) -> Self:
        x = self.node if dtype is None else astype(self.node, element_named(dtype))
        return self.of(reduction.along(op, x, axis))

    def _reduce(
        self,
        op: str,
        axis: Axes,
        keepdims: bool,
        dtype: Any = None,
        initial: Number | None = None,
        where: Any = None,
        correction: int | None = None,
    ) -> Self:
        element = None if dtype is None else element_named(dtype)
        mask = None if where is None or where is True else _node_of(where)
        return self.of(reduce_part(op, self.node, axis, keepdims, element, Part(mask, initial), correction))


def _node_of(value: Any) -> Node:
    return value.node if isinstance(value, Reductions) else leaf(value, None)
