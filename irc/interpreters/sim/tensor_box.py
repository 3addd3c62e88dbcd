"""Boxes of a tensor map: which elements of global memory a TMA copy touches, and where in shared memory each lies.

A box is dense and row-major in shared memory, then swizzled; elements outside of the array are zeros where they are
loaded, count as bytes all the same, and are left alone where they are stored (CUDA driver API, cuTensorMapEncodeTiled
and cuTensorMapEncodeIm2col; PTX ISA, 5.5 "Tensors").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from irc.interpreters.sim.shared_matrix import Addresses, swizzled

ALIGNMENT = 128
"""Bytes. The address of a box in shared memory is a multiple of it."""


@dataclass(frozen=True)
class TensorBox:
    """The constant part of a tensor map; lists are outermost first, strides in elements, `swizzle` in bytes."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_bytes: int
    swizzle: int = 0
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    """The window of the im2col mode, whose box is of pixels and channels; none of the tiled mode."""

    def __post_init__(self) -> None:
        inner = self.box[-1] * self.element_bytes
        if self.swizzle and inner != self.swizzle:
            raise ValueError(f"expected the inner box of a swizzle to fill its {self.swizzle} bytes, found {inner}")

    @property
    def bytes(self) -> int:
        """What one copy adds to a barrier."""
        return prod(self.box) * self.element_bytes

    def elements(
        self, start: Sequence[int], moved: Sequence[int] = ()
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """For every element of the box in row-major order: its offset in the array, in elements, and whether it is
        inside. moved: how far the pixels of a window are."""
        if self.steps:
            return self._columns(start, moved)
        offset = np.zeros(self.box, np.int64)
        inside = np.ones(self.box, np.bool_)
        for dim, (first, size, extent, stride) in enumerate(
            zip(start, self.box, self.extents, self.strides, strict=True)
        ):
            shape = [size if d == dim else 1 for d in range(len(self.box))]
            at = (np.arange(size, dtype=np.int64) + first).reshape(shape)
            offset += at * stride
            inside &= (at >= 0) & (at < extent)
        return offset.reshape(-1), inside.reshape(-1)

    def _columns(
        self, start: Sequence[int], moved: Sequence[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The pixels from the first one on, over the taps of the window, the innermost dimension first."""
        image, *pixel, channel = start
        ends = [n - 1 + corner for n, corner in zip(self.extents[1:-1], self.upper, strict=True)]
        if any(not a <= at <= b for a, at, b in zip(self.lower, pixel, ends, strict=True)):
            raise ValueError(f"expected a first pixel in the window {list(self.lower)} to {ends}, found {pixel}")
        pixels: list[tuple[int, ...]] = []
        for _ in range(self.box[0]):
            pixels.append((image, *(at + o for at, o in zip(pixel, moved, strict=True))))
            for dim in reversed(range(len(pixel))):
                pixel[dim] += self.steps[dim]
                if pixel[dim] <= ends[dim]:
                    break
                pixel[dim] = self.lower[dim]
            else:
                image += 1
        channels = np.arange(self.box[1], dtype=np.int64) + channel
        at = np.array(pixels, np.int64).reshape(self.box[0], -1)
        is_pixel: npt.NDArray[np.bool_] = np.all((at >= 0) & (at < np.array(self.extents[:-1])), axis=1)
        inside = is_pixel[:, None] & (channels < self.extents[-1])
        offset = (at @ np.array(self.strides[:-1], np.int64))[:, None] + channels
        return offset.reshape(-1), inside.reshape(-1)

    def shared(self, address: int) -> Addresses:
        """The byte address of every element of the box in row-major order, for a box at `address`."""
        return swizzled(address + self._bytes_from_start, self.swizzle)

    @cached_property
    def _bytes_from_start(self) -> Addresses:
        return np.arange(prod(self.box), dtype=np.int64) * self.element_bytes
