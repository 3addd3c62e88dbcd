"""The asynchronous proxy: TMA and wgmma see what threads wrote to shared memory only after a proxy fence (PTX ISA, 8.3
"Proxies", 9.7.13.12 membar / fence).

The clocks keep, beside what a lane knows to be complete, what of it was fenced: a fence anywhere on the way from the
write to the unit's access will do.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.interpreters.sim.clocks import agent_of, op_of
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.shared_matrix import CHUNK
from irc.interpreters.sim.strands import Strand
from irc.ir.locations import describe


@simulates(cuda.FenceProxyAsyncOp)
def fence_proxy_async(s: Strand, op: cuda.FenceProxyAsyncOp) -> None:
    s.frame.clocks.fence_proxy(s.numbers)


def last_writes(s: Strand, byte_offsets: Array) -> Array:
    """The keys of what wrote each 16 bytes at a place of the frame's shared memory last: a row for each place."""
    shadow = s.frame.shared_shadow
    return shadow.writes[(byte_offsets // shadow.granule)[:, None] + np.arange(CHUNK // shadow.granule)]


def require_proxy_fence(s: Strand, op: Operation, lanes: Array, byte_offsets: Array, keys: Array) -> None:
    """An error where the last write to a place, of those `keys`, is by a thread (or its cp.async), and no proxy fence
    lies between it and what a unit does now for a lane."""
    frame = s.frame
    wrong = frame.clocks.unfenced(lanes[:, None], keys)
    if not wrong.any():
        return
    row, column = (int(found[0]) for found in np.nonzero(wrong))
    key = int(keys[row, column])
    other = frame.code.accesses[int(op_of(key))]
    byte_offset = int(byte_offsets[row]) % frame.shared_pitch
    s.fail(
        "race",
        op,
        f"{op.name} accesses byte {byte_offset} of shared memory, which {frame.agent_text(int(agent_of(key)))} has "
        f"written with no cuda.fence_proxy_async between ({other.name} at {describe(other.location)})",
        np.isin(s.numbers, lanes[wrong.any(axis=1)]),
    )
