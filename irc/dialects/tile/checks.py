"""Comparisons of types that verifiers of several ops make."""

from __future__ import annotations

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.types import element_type_of, shape_of


def verify_same(what: str, expected: object, found: object) -> None:
    """Raises unless both are equal; shapes are shown as lists."""
    if expected != found:
        raise VerifyException(f"expected {what} {_shown(expected)}, found {_shown(found)}")


def _shown(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def verify_permuted(source: Attribute, dims: tuple[int, ...], result: Attribute) -> None:
    """Whether `result` has the dimensions of `source` in the order of `dims`."""
    shape = shape_of(source)
    verify_same("elements of type", element_type_of(source), element_type_of(result))
    if sorted(dims) != list(range(len(shape))):
        raise VerifyException(f"expected a permutation of {len(shape)} dimensions, found {list(dims)}")
    verify_same("a result of shape", tuple(shape[d] for d in dims), shape_of(result))


def verify_box(source: Attribute, result: Attribute, at: tuple[int, ...], dynamic: int) -> None:
    """Whether `result` at `at` (plus `dynamic` index operands) is a box of `source`."""
    outer, inner = shape_of(source), shape_of(result)
    verify_same("elements of type", element_type_of(source), element_type_of(result))
    verify_same("a result of rank", len(outer), len(inner))
    if dynamic not in (0, len(outer)):
        raise VerifyException(f"expected no index operand or {len(outer)}, found {dynamic}")
    if (at and len(at) != len(outer)) or (not at and not dynamic):
        raise VerifyException(f"expected {len(outer)} numbers in `at`, found {len(at)}")
    for a, n, m in zip(at, inner, outer, strict=False):
        if a < 0 or a + n > m:
            raise VerifyException(f"expected a box inside {list(outer)}, found {list(inner)} at {list(at)}")
