"""The parameters of a plan's launches, in the driver's form: written once, and again only where an address changes.

The driver copies parameters when a launch is enqueued, so they are free again as soon as a call has enqueued its steps;
calls in several threads use cells each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irc.artifact import DTYPES
from irc.runtime.plan import Buffer, Launch, Parameter, Scalar, TensorMap

if TYPE_CHECKING:
    from irc.runtime.calls import MapEncoder

Addresses: TypeAlias = tuple[int, ...]
"""The device address of everything in a call, by `Slots`."""

_ALIGNMENT = 64
_CELL_BYTES = {Buffer: 8, TensorMap: 128, Scalar: 8}
"""Bytes that a parameter takes at most."""


@dataclass(frozen=True)
class Slots:
    """Where each buffer's address stands: arguments first, then results, then the arena, then constants."""

    arguments: int
    results: int

    def of(self, buffer: Buffer) -> int:
        first = {"argument": 0, "result": self.arguments, "arena": self.arguments + self.results}
        return first.get(buffer.space, self.arguments + self.results + 1) + buffer.index


class Cells:
    """What the parameters of launches point to: a cell for each distinct one, in one block of memory.

    `parameters[i]` is the address of the array of pointers of launch i; `users[slot]` the launches that see its
    address.
    """

    def __init__(
        self, launches: Sequence[Launch], slots: Slots, encoder: Callable[[TensorMap], MapEncoder], count: int
    ):
        """`count` is the number of slots."""
        self._slots, self._encoder = slots, encoder
        self._addresses: Addresses = (-1,) * count
        self._writes: list[list[tuple[Callable[[int], None], int]]] = [[] for _ in range(count)]
        self.users: list[list[int]] = [[] for _ in range(count)]
        distinct = {_key(p): p for launch in launches for p in launch.parameters}
        # Tensor maps first: their size keeps all of them aligned.
        ordered = sorted(distinct.items(), key=lambda item: -_CELL_BYTES[type(item[1])])
        self._memory = ctypes.create_string_buffer(_ALIGNMENT + sum(_CELL_BYTES[type(p)] for _, p in ordered))
        end = -(-ctypes.addressof(self._memory) // _ALIGNMENT) * _ALIGNMENT
        cells: dict[Hashable, int] = {}
        for key, parameter in ordered:
            cells[key] = end
            end += _CELL_BYTES[type(parameter)]
            self._fill(parameter, cells[key])
        self._pointers = [_pointers([cells[_key(p)] for p in launch.parameters]) for launch in launches]
        self.parameters = [ctypes.addressof(pointers) for pointers in self._pointers]
        for index, launch in enumerate(launches):
            for slot in {slots.of(_buffer(p)) for p in launch.parameters if not isinstance(p, Scalar)}:
                self.users[slot].append(index)

    def _fill(self, parameter: Parameter, cell: int) -> None:
        """Writes a number, or notes how the cell follows from an address."""
        if isinstance(parameter, Scalar):
            content = _content(parameter)
            ctypes.memmove(cell, content, len(content))
            return
        buffer = _buffer(parameter)
        write = _writer(cell) if isinstance(parameter, Buffer) else self._encoder(parameter).writer(cell)
        self._writes[self._slots.of(buffer)].append((write, buffer.offset))

    def place(self, addresses: Addresses) -> Sequence[int]:
        """Fills in the addresses of a call; the slots whose address is another than before."""
        if addresses == self._addresses:
            return ()
        changed = [slot for slot, pair in enumerate(zip(addresses, self._addresses, strict=True)) if pair[0] != pair[1]]
        # Where a write fails, the next call writes all again.
        self._addresses = (-1,) * len(addresses)
        for slot in changed:
            address = addresses[slot]
            for write, offset in self._writes[slot]:
                write(address + offset)
        self._addresses = addresses
        return changed


def _buffer(parameter: Buffer | TensorMap) -> Buffer:
    return parameter.buffer if isinstance(parameter, TensorMap) else parameter


def _pointers(cells: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(1, len(cells)))(*cells)


def _key(parameter: Parameter) -> Hashable:
    """What tells parameters apart: numbers by their bits, so that -0.0 is not 0.0."""
    return (parameter.element, _content(parameter)) if isinstance(parameter, Scalar) else parameter


def _content(scalar: Scalar) -> bytes:
    return np.array([scalar.value], DTYPES[scalar.element]).tobytes()


def _writer(cell: int) -> Callable[[int], None]:
    """Writes an address to a cell."""
    return partial(setattr, ctypes.c_uint64.from_address(cell), "value")
