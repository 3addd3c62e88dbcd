"""Rules of sorts by comparators, and of the greatest elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.ordering import sorted_with_indices
from irc_frontend.stablehlo.ops.elementwise import compared_by, total_order
from irc_frontend.stablehlo.rules import RULES, rule
from irc_frontend.stablehlo.syntax import Body, Op
from irc_frontend.tensor import Tensor


@rule("stablehlo.sort")
def _sort(op: Op, *arrays: Tensor) -> list[Tensor]:
    """All arrays in the order of the keys that the comparator compares; equals stay in order."""
    axis = int(op.attrs.get("dimension", -1)) % max(1, arrays[0].ndim)
    keys = list(_Comparator(op.regions[0], arrays).keys())
    key, is_descending = keys[0]
    if len(keys) == len(arrays) == 1 and key.node is arrays[0].node:
        return [sorted_with_indices(key, axis, is_descending)[0]]
    order: Tensor | None = None
    for key, is_descending in reversed(keys):  # each sort keeps the order of the less significant keys
        _, now = sorted_with_indices(key if order is None else _along(key, order, axis), axis, is_descending)
        order = now if order is None else _along(order, now, axis)
    assert order is not None
    return [order.astype(x.element) if _is_iota(x, axis) else _along(x, order, axis) for x in arrays]


def _along(x: Tensor, order: Tensor, axis: int) -> Tensor:
    return ir.take_along_axis(x, order, axis, mode="clip")


def _is_iota(x: Tensor, axis: int) -> bool:
    return x.node.op == "iota" and dict(x.node.attributes)["axis"] == axis


_COMPARE = "stablehlo.compare"

_ACCEPTED = (
    "irc has a < b, a > b, and a < b | (a == b & ...) for further keys, where a is an elementwise function of the left "
    "elements, and b is the same function of the right elements"
)

MAX_COMPARATOR = 100
"""Ops of a comparator."""


class _Comparator:
    """The region of a sort: arguments 2n and 2n + 1 are the left and the right element of array n. It compares keys:
    elementwise functions of the left elements, and the same ones of the right elements."""

    def __init__(self, body: Body, arrays: Sequence[Tensor]):
        self._arrays = arrays
        self._ops = {name: op for op in body.ops for name in op.results}
        self._arguments = {name: number for number, (name, _) in enumerate(body.arguments)}
        self._values: dict[str, Tensor] = {}
        self._forms: dict[tuple[str, bool], int] = {}
        """A number of what computes a value, and of the same with the left and the right elements exchanged."""
        self._sides: dict[str, set[int]] = {name: {number % 2} for name, number in self._arguments.items()}
        """Which elements a value is computed from, the left or the right ones."""
        if len(body.ops) > MAX_COMPARATOR or not body.ops or len(body.ops[-1].operands) != 1:
            raise self._refused(body.ops[0] if body.ops else None)
        self._result = body.ops[-1].operands[0]
        numbers: dict[object, int] = {}
        for name, number in self._arguments.items():
            for swapped in (False, True):
                form: object = (number // 2, number % 2 ^ swapped)
                self._forms[name, swapped] = numbers.setdefault(form, len(numbers))
        for op in body.ops[:-1]:
            name = op.results[0]
            if any(each not in self._sides for each in op.operands):
                raise self._refused(op)
            self._sides[name] = {side for each in op.operands for side in self._sides[each]}
            for swapped in (False, True):
                operands = [self._forms[each, swapped] for each in op.operands]
                form = (op.name, *op.words, repr(op.attrs), repr(op.types), *operands)
                self._forms[name, swapped] = numbers.setdefault(form, len(numbers))

    def keys(self) -> Iterator[tuple[Tensor, bool]]:
        """Arrays to sort by, the most significant first, and whether from the greatest on: `a < b`, or
        `a < b or (a == b and ...)`."""
        op = self._op(self._result)
        while op.name == "stablehlo.or":
            both, less = self._pair(op, lambda each: each.name == "stablehlo.and")
            equal, rest = self._pair(both, lambda each: each.name == _COMPARE and compared_by(each)[0] == "EQ")
            if less.name != _COMPARE or sorted(self._of(less)) != sorted(self._of(equal)):
                raise self._refused(op)
            yield self._key(less)
            op = rest
        yield self._key(op)

    def _op(self, name: str) -> Op:
        if name not in self._ops:
            raise self._refused(None)
        return self._ops[name]

    def _of(self, op: Op) -> list[int]:
        return [self._forms[each, False] for each in op.operands]

    def _pair(self, op: Op, is_first: Callable[[Op], bool]) -> tuple[Op, Op]:
        """The two operands of an op; in front is the one that is wanted there."""
        operands = [self._op(each) for each in op.operands]
        first = next((each for each in operands if is_first(each)), None)
        if len(operands) != 2 or first is None:
            raise self._refused(op)
        return first, operands[operands[0] is first]

    def _key(self, op: Op) -> tuple[Tensor, bool]:
        """What a comparison compares, and whether the greater comes first."""
        direction, order = compared_by(op) if op.name == _COMPARE else ("", "")
        if direction not in ("LT", "GT") or self._forms[op.operands[0], False] != self._forms[op.operands[1], True]:
            raise self._refused(op)
        left = self._sides[op.operands[0]]
        if len(left) != 1:
            raise self._refused(op)
        key = self._value(op.operands[0])
        key = total_order(key) if order == "TOTALORDER" and key.node.is_float else key
        return key, (direction == "GT") != (left == {1})

    def _value(self, name: str) -> Tensor:
        """The value for all elements."""
        if (number := self._arguments.get(name)) is not None:
            return self._arrays[number // 2]
        if name not in self._values:
            op = self._ops[name]
            found = RULES[op.name](op, *map(self._value, op.operands)) if op.name in RULES else None
            if not isinstance(found, Tensor) or found.shape not in ((), self._arrays[0].shape):
                raise self._refused(op)
            self._values[name] = found
        return self._values[name]

    def _refused(self, op: Op | None) -> IrcError:
        message = "the comparator of stablehlo.sort is not supported"
        return IrcError(message, None if op is None else op.span, _ACCEPTED)


@rule("chlo.top_k")
def _top_k(op: Op, x: Tensor) -> list[Tensor]:
    """The k greatest or least along the last axis, in order."""
    count = int(op.attrs["k"])
    found = sorted_with_indices(x, -1, descending=bool(op.attrs.get("largest", True)))
    values, places = (each[..., :count] for each in found)
    return [values, places.astype(op.types[-1].element)]


@rule("stablehlo.custom_call")
def _custom_call(op: Op, *operands: Tensor) -> list[Tensor]:
    """`chlo.top_k` in programs that JAX exports."""
    name = op.words[0] if op.words else f"@{op.attrs.get('call_target_name')}"
    if name != "@mhlo.topk":
        raise IrcError(f"custom_call {name} is not supported")
    return _top_k(replace(op, attrs=op.attrs["mhlo.attributes"]), *operands)
