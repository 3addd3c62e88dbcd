"""Short spellings of the properties of ops, and of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue


def number(value: int) -> IntegerAttr:
    """The property of an integer."""
    return IntegerAttr(value, i64)


def attribute_of(value: object) -> Attribute:
    """The property of a Python value: bool, int, float, str, a sequence of ints; an attribute as it is."""
    match value:
        case Attribute():
            return value
        case bool():
            return flag(value)
        case int():
            return number(value)
        case float():
            return FloatAttr(value, Float64Type())
        case str():
            return StringAttr(value)
        case _:
            return DenseArrayBase.from_list(i64, [int(i) for i in cast(Sequence[int], value)])


def constant_of(value: SSAValue) -> int | None:
    """The number of an `arith.constant` of an integer type or index; None for anything else."""
    constant = value.owner.value if isinstance(value.owner, ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def scalar(value: float, type: Attribute) -> FloatAttr | IntegerAttr:
    """The attribute of a number of a scalar type."""
    if isinstance(type, AnyFloat):
        return FloatAttr(float(value), type)
    assert isinstance(type, IntegerType | IndexType)
    return IntegerAttr(int(value), type)


def flag(value: bool) -> BoolAttr:
    """The property of a truth value."""
    return BoolAttr.from_bool(value)


@overload
def numbers(values: Sequence[int]) -> DenseArrayBase: ...
@overload
def numbers(values: Sequence[int] | None) -> DenseArrayBase | None: ...
def numbers(values: Sequence[int] | None) -> DenseArrayBase | None:
    """The property of a list of integers, or none."""
    return None if values is None else DenseArrayBase.from_list(i64, values)


def values_of(array: DenseArrayBase | None) -> tuple[int, ...]:
    """The integers of such a property; () of none."""
    return () if array is None else tuple(cast(DenseArrayBase[IntegerType], array).get_values())


def pairs_of(array: DenseArrayBase | None) -> tuple[tuple[int, int], ...]:
    """The same, two by two; one that is left over is in no pair, which is for verifiers to find."""
    found = values_of(array)
    return tuple(zip(found[::2], found[1::2], strict=False))
