"""Where the stages and barriers of a ring lie in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from irc.diagnostics import IrcError
from irc.dialects.tile import AllocOp, BufferType, RingOp, RingType, element_type_of
from irc.dtypes import element_of

ALIGNMENT = 1024
"""Bytes: the 128-byte swizzle of TMA and wgmma repeats every 8 rows of 128 bytes (PTX ISA, 5.5.6)."""
BARRIER_BYTES = 8


def aligned(n: int, to: int = ALIGNMENT) -> int:
    return -(-n // to) * to


def buffer_bytes(type: BufferType) -> int:
    """Bytes that a buffer spans."""
    if type.shared_layout is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts before plan-shared")
    return type.shared_layout.cosize * element_of(element_type_of(type)).size


@dataclass(frozen=True)
class RingPlan:
    """Byte offsets from the ring's start: of each buffer's stage 0, of the full and the empty barriers, and the whole
    size."""

    stages: int
    buffers: tuple[int, ...]
    pitches: tuple[int, ...]
    full: int
    empty: int
    size: int


def ring_plan(ring: RingOp) -> RingPlan:
    assert isinstance(ring.ring.type, RingType)
    at = 0
    starts: list[int] = []
    pitches: list[int] = []
    for type in ring.ring.type.buffers:
        assert isinstance(type, BufferType)
        starts.append(at)
        pitches.append(aligned(buffer_bytes(type)))
        at += pitches[-1] * ring.stage_count
    empty = at + BARRIER_BYTES * ring.stage_count
    return RingPlan(
        ring.stage_count, tuple(starts), tuple(pitches), at, empty, aligned(empty + BARRIER_BYTES * ring.stage_count)
    )


def alloc_bytes(alloc: AllocOp) -> int:
    assert isinstance(alloc.buffer.type, BufferType)
    return aligned(buffer_bytes(alloc.buffer.type), 128)
