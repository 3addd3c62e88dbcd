"""numpy's functions that arrays have as methods too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irc_frontend.tensor import Tensor


class FunctionMethods:
    """Methods that are functions of the package, which are imported when one is called: they make Tensors."""

    __slots__ = ()

    def round(self, decimals: int = 0) -> Tensor:
        return _called("round", self, decimals)

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
        return _called("take", self, indices, axis, mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        return _called("repeat", self, repeats, axis)

    def argsort(self, axis: int | None = -1) -> Tensor:
        return _called("argsort", self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        return _called("diagonal", self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        return _called("trace", self, offset, axis1, axis2)

    def nonzero(self) -> tuple[Tensor, ...]:
        return _called("nonzero", self)


def _called(name: str, *args: Any) -> Any:
    import irc_frontend

    return getattr(irc_frontend, name)(*args)
