"""The parameters of a plan's launches, in the driver's form: written once, and again only where an address changes.

The driver copies parameters when a launch is enqueued, so they are free again as soon as a call has enqueued its steps;
calls in several threads use cells each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.runtime.plan import Buffer, Launch, Parameter, Scalar, TensorMap
from irc.support.integers import round_up
from irc.support.parameters import MAP_ALIGNMENT, MAP_BYTES, layout_of_set

if TYPE_CHECKING:
    from irc.runtime.calls import MapEncoder

Addresses: TypeAlias = Sequence[int]
"""The device address of everything in a call, by `Slots`."""

_ALIGNMENT = MAP_ALIGNMENT
_CELL_BYTES = {Buffer: 8, TensorMap: MAP_BYTES, Scalar: 8}
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
    """What the parameters of launches point to, in one block of memory: a cell for each distinct one, and an array of
    structs for each launch of a kernel that takes sets of operands.

    `parameters[i]` is the address of the array of pointers of launch i; `users[slot]` the launches that see its
    address; `addresses[slot]` that address, -1 before it has one.
    """

    def __init__(
        self, launches: Sequence[Launch], slots: Slots, encoder: Callable[[TensorMap], MapEncoder], count: int
    ):
        """`count` is the number of slots."""
        self._slots, self._encoder = slots, encoder
        self._unknown: Addresses = [-1] * count
        self.addresses = self._unknown
        self.users: list[list[int]] = [[] for _ in range(count)]
        # What is aligned most comes first: its size keeps all of it aligned.
        distinct = {_key(p): p for launch in launches if launch.max_sets == 1 for p in launch.parameters}
        ordered = sorted(distinct.items(), key=lambda item: -_CELL_BYTES[type(item[1])])
        arrays = [_array(launch) for launch in launches]
        size = sum(size for _, size in arrays) + sum(_CELL_BYTES[type(p)] for _, p in ordered)
        memory = np.zeros((_ALIGNMENT + size) // 8, np.uint64)
        self._start = round_up(memory.ctypes.data, _ALIGNMENT)
        self._words = memory[(self._start - memory.ctypes.data) // 8 :]
        starts = list(accumulate((size for _, size in arrays), initial=self._start))
        end = starts[-1]
        self._filled: list[tuple[int, int, int]] = []
        """Of each word that is an address: its place, the slot, and what is added to the slot's."""
        self._encoded: list[tuple[Callable[[int], None], int, int]] = []
        """What writes a map that the driver has to make for each address, its slot, and what is added to that's."""
        cells: dict[Hashable, int] = {}
        for key, parameter in ordered:
            cells[key] = end
            end += _CELL_BYTES[type(parameter)]
            self._fill(parameter, cells[key])
        self._pointers: list[Any] = []
        for index, launch in enumerate(launches):
            if launch.max_sets == 1:
                self._pointers.append(_pointers([cells[_key(p)] for p in launch.parameters]))
            else:
                self._pointers.append(_pointers([starts[index]]))
                for parameter, offset in zip(launch.parameters, arrays[index][0], strict=True):
                    self._fill(parameter, starts[index] + offset)
            for slot in {slots.of(_buffer(p)) for p in launch.parameters if not isinstance(p, Scalar)}:
                self.users[slot].append(index)
        self.parameters = [ctypes.addressof(pointers) for pointers in self._pointers]
        self._places, self._slot_of_word = (np.array([f[n] for f in self._filled], np.intp) for n in range(2))
        self._offsets = np.array([offset for _, _, offset in self._filled], np.uint64)
        self._given = (ctypes.c_uint64 * count)()
        self._given_words = np.ctypeslib.as_array(self._given)

    def _fill(self, parameter: Parameter, cell: int) -> None:
        """Writes a number, or notes how the cell follows from an address."""
        if isinstance(parameter, Scalar):
            content = _content(parameter)
            ctypes.memmove(cell, content, len(content))
            return
        buffer, word = _buffer(parameter), cell
        slot = self._slots.of(buffer)
        if isinstance(parameter, TensorMap):
            encoder = self._encoder(parameter)
            if (place := encoder.prepare(cell)) is None:
                self._encoded.append((partial(encoder.write, cell), slot, buffer.offset))
                return
            word += 8 * place
        self._filled.append(((word - self._start) // 8, slot, buffer.offset))

    def place(self, addresses: Addresses) -> None:
        """Fills in the addresses of a call. Where that fails, none is known to be filled in.

        All words are written at once, in the time that a few take one by one."""
        if addresses == self.addresses:
            return
        before, self.addresses = self.addresses, self._unknown
        for write, slot, offset in self._encoded:
            if addresses[slot] != before[slot]:
                write(addresses[slot] + offset)
        self._given[:] = addresses
        self._words[self._places] = self._given_words[self._slot_of_word] + self._offsets
        self.addresses = addresses

    def writer(self, slot: int) -> Callable[[int], None]:
        """What fills in another address of one slot, in a fraction of the time of `place`, which then writes all."""
        places = [(place, offset) for place, of, offset in self._filled if of == slot]
        encoded = [(write, offset) for write, of, offset in self._encoded if of == slot]
        numbers = memoryview(self._words.data)

        def write(address: int) -> None:
            self.addresses = self._unknown
            for place, offset in places:
                numbers[place] = address + offset
            for encode, offset in encoded:
                encode(address + offset)

        return write


def _array(launch: Launch) -> tuple[list[int], int]:
    """Where each parameter of a launch lies in its array of structs, and the bytes of the array; nothing for a kernel
    that takes no sets."""
    if launch.max_sets == 1:
        return [], 0
    offsets, size = layout_of_set([isinstance(p, TensorMap) for p in launch.parameters_of_sets[0]])
    everywhere = [number * size + offset for number in range(launch.sets) for offset in offsets]
    return everywhere, round_up(launch.max_sets * size, _ALIGNMENT)


def _buffer(parameter: Buffer | TensorMap) -> Buffer:
    return parameter.buffer if isinstance(parameter, TensorMap) else parameter


def _pointers(cells: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(1, len(cells)))(*cells)


def _key(parameter: Parameter) -> Hashable:
    """What tells parameters apart: numbers by their bits, so that -0.0 is not 0.0."""
    return (parameter.element, _content(parameter)) if isinstance(parameter, Scalar) else parameter


def _content(scalar: Scalar) -> bytes:
    return np.array([scalar.value], DTYPES[scalar.element]).tobytes()
