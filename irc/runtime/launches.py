"""A frame: the argument storage of every launch of a plan, laid out once and filled in for each call.

The driver copies arguments when a launch is enqueued, so a frame is free again as soon as a call has enqueued its
steps; calls in several threads use a frame each.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence

from irc.artifact import DTYPES
from irc.runtime.plan import Buffer, Launch, Parameter, Scalar, Space, TensorMap
from irc.runtime.tensor_map import ALIGNMENT, BYTES, encode

Bases = Mapping[Space, Sequence[int]]
"""The device address of each argument, result and constant, and of the arena."""

_FORMATS = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u8": "B", "bool": "?"}


def address_of(buffer: Buffer, bases: Bases) -> int:
    """Where a buffer is in this call."""
    return bases[buffer.space][buffer.index] + buffer.offset


class Arguments:
    """The parameters of one launch: their storage, and the array of pointers that the driver takes at `pointers`."""

    def __init__(self, launch: Launch):
        offsets, size = _layout(launch.parameters)
        self._storage = ctypes.create_string_buffer(size + ALIGNMENT)
        start = -ctypes.addressof(self._storage) % ALIGNMENT + ctypes.addressof(self._storage)
        places = [start + offset for offset in offsets]
        self._array = (ctypes.c_void_p * max(len(places), 1))(*places)
        self.pointers = ctypes.addressof(self._array)
        self._addresses: list[tuple[Buffer, ctypes.c_uint64]] = []
        self._maps: list[_PlacedMap] = []
        for parameter, place in zip(launch.parameters, places, strict=True):
            self._place(parameter, place)

    def _place(self, parameter: Parameter, place: int) -> None:
        if isinstance(parameter, Buffer):
            self._addresses.append((parameter, ctypes.c_uint64.from_address(place)))
        elif isinstance(parameter, TensorMap):
            self._maps.append(_PlacedMap(parameter, place))
        else:
            content = _scalar_bytes(parameter)
            ctypes.memmove(place, content, len(content))

    def fill(self, bases: Bases) -> None:
        """Writes the addresses of this call."""
        for buffer, slot in self._addresses:
            slot.value = address_of(buffer, bases)
        for placed in self._maps:
            placed.fill(bases)


class _PlacedMap:
    """A tensor map in its storage; it is encoded again only when its array has moved."""

    def __init__(self, map: TensorMap, place: int):
        self._map = map
        self._place = place
        self._encoded_for = 0

    def fill(self, bases: Bases) -> None:
        address = address_of(self._map.buffer, bases)
        if address == self._encoded_for:
            return
        encode(self._map, address, self._place)
        self._encoded_for = address


def _layout(parameters: Sequence[Parameter]) -> tuple[list[int], int]:
    """The offset of each parameter in the storage, and its size: tensor maps need 64-byte alignment, the rest 8."""
    offsets: list[int] = []
    end = 0
    for parameter in parameters:
        size, align = (BYTES, ALIGNMENT) if isinstance(parameter, TensorMap) else (8, 8)
        offset = -(-end // align) * align
        offsets.append(offset)
        end = offset + size
    return offsets, end


def _scalar_bytes(scalar: Scalar) -> bytes:
    if (code := _FORMATS.get(scalar.element)) is not None:
        return struct.pack(f"<{code}", scalar.value)
    return DTYPES[scalar.element].type(scalar.value).tobytes()
