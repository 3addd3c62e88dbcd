"""Synchronization of threads, and exchange of values in a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from irc.dialects import cuda
from irc.interpreters.sim.clocks import WARP
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Routine, Strand, Waiting


@simulates(cuda.SyncOp)
def sync(s: Strand, op: cuda.SyncOp) -> Routine:
    barrier = s.frame.barrier
    blocks = barrier.arrive(s, op)
    waiting = blocks[barrier.arrived(blocks)]
    if not len(waiting):
        return
    target = barrier.passed[waiting] + 1
    yield Waiting(s, op, "at the barrier of the block", lambda: bool((barrier.passed[waiting] >= target).all()))


@simulates(cuda.ClusterSyncOp)
def cluster_sync(s: Strand, op: cuda.ClusterSyncOp) -> Routine:
    clusters = s.frame.cluster_barrier.arrive(s, op)
    targets = [(barrier, barrier.passed + (barrier.arrived > 0)) for barrier in clusters]
    if all(barrier.passed >= target for barrier, target in targets):
        return
    yield Waiting(
        s,
        op,
        "waits at the barrier of the cluster",
        lambda: all(barrier.passed >= target for barrier, target in targets),
    )


@simulates(cuda.NamedSyncOp)
def named_sync(s: Strand, op: cuda.NamedSyncOp, id: Any) -> Routine:
    ids = s.spread(id)
    found = s.frame.named.arrive(s, op, ids, op.threads.value.data, waiting=True)
    if all(barrier.passed >= target for barrier, target in found):
        return
    names = ", ".join(map(str, sorted(set(ids.tolist()))))
    yield Waiting(
        s, op, f"waits at named barrier {names}", lambda: all(barrier.passed >= target for barrier, target in found)
    )


@simulates(cuda.NamedArriveOp)
def named_arrive(s: Strand, op: cuda.NamedArriveOp, id: Any) -> None:
    s.frame.named.arrive(s, op, s.spread(id), op.threads.value.data, waiting=False)


@simulates(cuda.WarpSyncOp)
def warp_sync(s: Strand, op: cuda.WarpSyncOp) -> None:
    s.frame.clocks.sync_warps(_whole(s))


def _whole(s: Strand) -> Array:
    """The lanes of the active warps, those included that do not exist."""
    if s.mask is None:
        return s.frame.all_lanes
    return s.frame.all_lanes[np.repeat(s.mask.reshape(-1, WARP).any(axis=1), WARP)]


@simulates(cuda.FenceOp)
def fence(s: Strand, op: cuda.FenceOp) -> None:
    """What the lane knows to be complete, or has done itself, can be made known to other blocks from now on."""
    if op.scope.data == "device":
        s.frame.order.fence(s.numbers)


@simulates(cuda.ShuffleOp)
def shuffle(s: Strand, op: cuda.ShuffleOp, value: Any, lane: Any) -> Any:
    """The lane's own value where the other is outside of the warp (CUDA C++ Programming Guide, warp shuffle
    functions)."""
    s.require_whole_warps(op)
    if np.ndim(value) == 0:
        return value
    frame = s.frame
    own = frame.all_lanes % WARP
    amount = np.asarray(lane, np.int64)
    match op.mode.data:
        case "xor":
            source = own ^ amount
        case "up":
            source = own - amount
        case "down":
            source = own + amount
        case _:
            source = amount % WARP
    inside = (source >= 0) & (source < WARP)
    return value[frame.all_lanes - own + np.where(inside, source, own)]


@simulates(cuda.AnyOp)
def any_of_warp(s: Strand, op: cuda.AnyOp, condition: Any) -> Any:
    if np.ndim(condition) == 0:
        return condition
    rows = (condition & s.frame.exists).reshape(-1, WARP)
    return np.repeat(rows.any(axis=1), WARP)
