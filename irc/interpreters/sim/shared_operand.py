"""Operands of asynchronous products: matrices in shared memory, as descriptors name them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from irc.dialects.cuda.tensor_core import DescriptorBase
from irc.interpreters.sim.access import read_shared
from irc.interpreters.sim.frame import SHARED_BASE
from irc.interpreters.sim.matrix_fragments import truncate_tf32
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.proxies import last_writes, require_proxy_fence
from irc.interpreters.sim.scalars import dtype_of
from irc.interpreters.sim.shared_matrix import CHUNK, Addresses, Descriptor
from irc.interpreters.sim.strands import Strand


def described(op: DescriptorBase) -> Descriptor:
    """What a descriptor says but for its address."""
    return Descriptor(0, op.leading.value.data, op.stride.value.data, op.swizzle.value.data)


def at_addresses(base: int, address: Any) -> Any:
    """The bits of a descriptor with the address of every lane."""
    chunk = (np.asarray(address, np.int64) & 0x3FFFF) // CHUNK
    return (chunk | np.int64(base))[()]


def decoded(s: Strand, op: Operation, decode: Callable[[int], Descriptor], bits: int) -> Descriptor:
    """What bits say; an error where they say nothing that there is."""
    try:
        return decode(bits)
    except ValueError as error:
        s.fail("unsupported", op, str(error))


@cache
def _addresses(descriptor: Descriptor, rows: int, element_bytes: int, transposed: bool) -> tuple[Addresses, Addresses]:
    """The address of each element, and those of the chunks that hold them."""
    found = descriptor.addresses(rows, element_bytes, transposed=transposed)
    return found, np.unique(found // CHUNK * CHUNK)


class SharedOperand:
    """A matrix in the shared memory of a block of the frame."""

    def __init__(
        self,
        s: Strand,
        op: Operation,
        matrix: Descriptor,
        rows: int,
        type: Attribute,
        *,
        transposed: bool,
        block: int,
    ):
        frame = self.frame = s.frame
        self.dtype = dtype_of(type, frame.code.index)
        addresses, chunks = _addresses(matrix, rows, self.dtype.itemsize, transposed)
        own = np.full(len(chunks), block * frame.threads)
        self.chunks = frame.shared_byte_offsets(s, op, chunks, CHUNK, lanes=own)
        self.byte_offsets = addresses - SHARED_BASE + block * frame.shared_pitch

    def check(self, s: Strand, op: Operation, lane: int, key: int) -> None:
        """Errors of reading it for a lane; `key` is what the unit leaves that reads."""
        lanes = np.full(len(self.chunks), lane)
        read_shared(s, op, self.chunks, CHUNK, lanes, np.full(len(self.chunks), key))
        require_proxy_fence(s, op, lanes, self.chunks, last_writes(s, self.chunks))

    def read(self) -> Array:
        """Rows x k."""
        size = self.dtype.itemsize
        found = self.frame.shared.table(self.dtype, 1)[self.byte_offsets // size, 0]
        return truncate_tf32(found) if size == 4 else found
