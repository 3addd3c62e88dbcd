"""Where the asynchronous units find the elements of a matrix in shared memory: swizzles, and descriptors of wgmma and
tcgen05.

Addresses are bytes in the block's shared window. The hardware's swizzles exchange the 16-byte chunks of a row of 128
bytes by XOR of address bits, so that they depend on the address and not on the matrix (PTX ISA, 5.5.6 "Swizzling
modes"). TMA applies the same function where it reads and writes a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.int64]

CHUNK = 16
"""Bytes that a swizzle keeps together, and the unit of a descriptor's fields."""

ROWS = 8
"""Rows of a core matrix, and of a swizzle's pattern."""

OPERAND_BYTES = 32
"""Bytes of k that one product takes of each row, whatever the operand's type."""

_FIELD = (1 << 14) - 1
_LAYOUTS = {0: 0, 1: 128, 2: 64, 3: 32}
"""The width of the swizzle by the layout type of a descriptor of wgmma."""

_TCGEN05_LAYOUTS = {0: 0, 2: 128, 4: 64, 6: 32}
"""The same of one of tcgen05."""

_TCGEN05_VERSION = 1 << 46


def swizzled(address: Addresses, width: int) -> Addresses:
    """Where the byte that an unswizzled layout puts at `address` lies, for a swizzle of `width` 0, 32, 64 or 128 bytes:
    bits 4, 5, 6 (as many as the width has) are XORed with bits 7, 8, 9."""
    if not width:
        return address
    chunks = width // CHUNK
    return address ^ (((address >> 7) & (chunks - 1)) << 4)


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor (PTX ISA, 9.7.15.5.1.2 of wgmma, 9.7.16.4.1 of tcgen05), all in bytes: `address` of the first
    element, `leading` and `stride` byte offsets, `swizzle` width."""

    address: int
    leading: int
    stride: int
    swizzle: int

    @staticmethod
    def decode(bits: int) -> Descriptor:
        """From the 64 bits that wgmma takes. ValueError where the base offset, which irc never sets, is not 0."""
        if (bits >> 49) & 7:
            raise ValueError(f"expected a matrix descriptor with base offset 0, found {bits & (1 << 64) - 1:#018x}")
        return Descriptor(
            (bits & _FIELD) * CHUNK,
            (bits >> 16 & _FIELD) * CHUNK,
            (bits >> 32 & _FIELD) * CHUNK,
            _LAYOUTS[bits >> 62 & 3],
        )

    def encode(self) -> int:
        """The 64 bits, as a signed number."""
        layout = next(code for code, width in _LAYOUTS.items() if width == self.swizzle)
        bits = self._fields() | layout << 62
        return bits - (1 << 64) if bits >> 63 else bits

    @staticmethod
    def decode_tcgen05(bits: int) -> Descriptor:
        """From the 64 bits that tcgen05 takes (PTX ISA, 9.7.16.4.1). ValueError where they are those of wgmma, or have
        what irc never sets."""
        layout = bits >> 61 & 7
        if bits >> 46 & 7 != 1 or bits >> 49 & 15 or layout not in _TCGEN05_LAYOUTS:
            raise ValueError(f"expected a matrix descriptor of tcgen05, found {bits & (1 << 64) - 1:#018x}")
        address, leading, stride = ((bits >> at & _FIELD) * CHUNK for at in (0, 16, 32))
        return Descriptor(address, leading, stride, _TCGEN05_LAYOUTS[layout])

    def encode_tcgen05(self) -> int:
        """The 64 bits that tcgen05 takes, as a signed number."""
        layout = next(code for code, width in _TCGEN05_LAYOUTS.items() if width == self.swizzle)
        bits = self._fields() | _TCGEN05_VERSION | layout << 61
        return bits - (1 << 64) if bits >> 63 else bits

    def _fields(self) -> int:
        """Address and offsets, which both have in the same bits."""
        address, leading, stride = (each // CHUNK & _FIELD for each in (self.address, self.leading, self.stride))
        return address | leading << 16 | stride << 32

    def addresses(self, rows: int, element_bytes: int, *, transposed: bool) -> Addresses:
        """The byte address of every element of an operand, an array of rows x k, where k is 32 bytes of elements. Rows
        are those of the left operand, or columns of the right one.

        The four canonical layouts of either major, in chunks of 16 bytes, are the table of CuTe's
        `make_gmma_desc` (cute/atom/mma_traits_sm90_gmma.hpp).
        """
        row = np.arange(rows, dtype=np.int64)[:, None]
        k = np.arange(OPERAND_BYTES // element_bytes, dtype=np.int64)[None, :]
        offset = self._mn_major(row, k, element_bytes) if transposed else self._k_major(row, k * element_bytes)
        return swizzled(self.address + offset, self.swizzle)

    def _k_major(self, row: Addresses, byte: Addresses) -> Addresses:
        """Rows one after another, 8 to a group; groups are `stride` apart. Without a swizzle a row is one chunk, and
        the two chunks of k are `leading` apart."""
        pitch = self.swizzle or CHUNK
        along = byte if self.swizzle else byte // CHUNK * self.leading + byte % CHUNK
        return row % ROWS * pitch + row // ROWS * self.stride + along

    def _mn_major(self, row: Addresses, k: Addresses, element_bytes: int) -> Addresses:
        """Lines of constant k one after another, 8 to a group. With a swizzle a line is as long as its width, panels
        are `leading` apart and groups of k `stride`; without one it is the other way round."""
        panel, groups = (self.leading, self.stride) if self.swizzle else (self.stride, self.leading)
        pitch = self.swizzle or CHUNK
        byte = row * element_bytes
        return byte // pitch * panel + byte % pitch + k % ROWS * pitch + k // ROWS * groups
