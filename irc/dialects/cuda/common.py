"""What the families of cuda ops share: sizes of accesses, values that are known, checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.types import RegistersType
from irc.ir.operations import EffectOp
from irc.ir.properties import constant_of

FALSE = BoolAttr.from_bool(False)

ACCESS_BYTES = (1, 2, 4, 8, 16)
"""Sizes of one memory access of one thread (PTX ISA, 6.4.1)."""

GLOBAL, SHARED = "global", "shared"

Value = SSAValue | Operation


class AccessOp(EffectOp):
    """An op that reads or writes global or shared memory."""

    @property
    def accesses(self) -> Mapping[str, int]:
        """Bytes that it reads or writes at once, by the memory."""
        raise NotImplementedError


def element_of(array: SSAValue) -> Attribute:
    """The element type of a register array."""
    assert isinstance(array.type, RegistersType)
    return array.type.element


def check_one_of(what: str, value: object, allowed: Sequence[object]) -> None:
    """Refuse a property outside of its set of values."""
    if value not in allowed:
        raise VerifyException(f"expected {what} to be one of {', '.join(map(str, allowed))}, found {value}")


def check_registers(what: str, array: SSAValue, index: SSAValue, count: int) -> None:
    """Refuse an access of `count` elements at a known index outside of a register array."""
    assert isinstance(array.type, RegistersType)
    first, size = constant_of(index), array.type.count
    if count > size or (first is not None and not 0 <= first <= size - count):
        start = "" if first is None else f" from {first}"
        raise VerifyException(f"{what}: expected elements inside of {array.type}, found {count}{start}")
