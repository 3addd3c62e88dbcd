"""A frame: the arguments of every launch of a plan, laid out once and filled in where a call's addresses differ.

cuda.core copies arguments when a launch is enqueued, so a frame is free again as soon as a call has enqueued its steps;
calls in several threads use a frame each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from irc.artifact import DTYPES
from irc.runtime.plan import Buffer, Launch, Parameter, Scalar, TensorMap

Addresses: TypeAlias = tuple[int, ...]
"""The device address of everything in a call, by `Slots`."""

Encode: TypeAlias = Callable[[TensorMap, int], Any]
"""Makes the tensor map of the array at an address."""

MOST_ENCODED = 16
"""Tensor maps that are kept for one parameter: an allocator gives the same few addresses again and again."""

_BITS = {1: np.uint8, 2: np.uint16}
"""The type by which scalars travel that numpy itself does not have (bf16, f8), by their bytes."""


@dataclass(frozen=True)
class Slots:
    """Where each buffer's address stands: arguments first, then results, then the arena, then constants."""

    arguments: int
    results: int

    def of(self, buffer: Buffer) -> int:
        first = {"argument": 0, "result": self.arguments, "arena": self.arguments + self.results}
        return first.get(buffer.space, self.arguments + self.results + 1) + buffer.index

    def place(self, buffer: Buffer) -> Place:
        return Place(self.of(buffer), buffer.offset)


@dataclass(frozen=True)
class Place:
    """A buffer of the plan: a slot, and bytes from its address."""

    slot: int
    offset: int

    def __call__(self, addresses: Addresses) -> int:
        """Where it is in a call."""
        return addresses[self.slot] + self.offset


class Arguments:
    """The arguments of one launch."""

    def __init__(self, launch: Launch, slots: Slots, encode: Encode):
        self._addresses: Addresses = ()
        self._values: list[Any] = [_scalar(p) if isinstance(p, Scalar) else None for p in launch.parameters]
        placed = [_placed(p, slots, encode) for p in launch.parameters]
        self._placed = [(index, at) for index, at in enumerate(placed) if at is not None]

    def values(self, addresses: Addresses) -> Sequence[Any]:
        """What the launch takes in this call."""
        if addresses != self._addresses:
            for index, at in self._placed:
                self._values[index] = at(addresses)
            self._addresses = addresses
        return self._values


class PlacedMap:
    """A tensor map in a plan; it is encoded again only where its array has moved."""

    def __init__(self, map: TensorMap, place: Place, encode: Encode):
        self._map = map
        self._place = place
        self._encode = encode
        self._encoded: dict[int, Any] = {}

    def __call__(self, addresses: Addresses) -> Any:
        """The map in a call."""
        address = self._place(addresses)
        if (known := self._encoded.get(address)) is not None:
            return known
        if len(self._encoded) == MOST_ENCODED:
            self._encoded.clear()
        return self._encoded.setdefault(address, self._encode(self._map, address))


def _placed(parameter: Parameter, slots: Slots, encode: Encode) -> Place | PlacedMap | None:
    """How a parameter follows from a call's addresses; None for a number."""
    if isinstance(parameter, Buffer):
        return slots.place(parameter)
    if isinstance(parameter, TensorMap):
        return PlacedMap(parameter, slots.place(parameter.buffer), encode)
    return None


def _scalar(scalar: Scalar) -> Any:
    """A numpy scalar with the number's bits: cuda.core tells a parameter's size by its type."""
    number = np.array([scalar.value], DTYPES[scalar.element])
    return (number if number.dtype.isbuiltin == 1 else number.view(_BITS[number.itemsize]))[0]
