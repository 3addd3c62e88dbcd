"""Which accesses come before which: vector clocks of the threads of a batch.

Every thread has a clock, which a release (an arrival at a barrier) advances. An access leaves a *key* behind: the
block's epoch, the clock, the agent and the op. It is ordered before a later one of another thread

- where the block has passed a barrier of the whole block since: then its epoch is older;
- where the other thread knows the agent's clock of that time: it acquired, at the end of a wait, a row of clocks that
  the agent, or one that knew of it, released.

This is FastTrack's scheme (Flanagan and Freund, PLDI 2009), with barriers of the whole block folded into epochs, so
that kernels without other barriers need no rows at all.

An agent is a thread of the cluster (its number in it) or an asynchronous unit (`new_agent`): the accesses of one have
no epoch, as a barrier of the block does not wait for them; only the clock that is released on their behalf orders them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irc.interpreters.sim.memory import Array

OP_BITS, AGENT_BITS, CLOCK_BITS, EPOCH_BITS = 14, 15, 18, 16
OP_MASK, AGENT_MASK, CLOCK_MASK = 2**OP_BITS - 1, 2**AGENT_BITS - 1, 2**CLOCK_BITS - 1
CLOCK_UNIT = 1 << (OP_BITS + AGENT_BITS)
EPOCH_UNIT = 1 << (OP_BITS + AGENT_BITS + CLOCK_BITS)
ASYNC_EPOCH = 2**EPOCH_BITS - 1
NEVER = -1
"""The key of a byte that was not accessed."""

WARP = 32


def agent_of(keys: Any) -> Any:
    """The agents of keys."""
    return (keys >> OP_BITS) & AGENT_MASK


def clock_of(keys: Any) -> Any:
    """The clocks of keys."""
    return (keys // CLOCK_UNIT) & CLOCK_MASK


def op_of(keys: Any) -> Any:
    """The numbers of the ops of keys."""
    return keys & OP_MASK


class Clocks:
    """The clocks of a frame: `blocks` blocks of `threads` threads (whole warps), in clusters of `cluster` blocks."""

    def __init__(self, blocks: int, threads: int, cluster: int):
        lanes = blocks * threads
        self.threads = threads
        self.domain = threads * cluster
        """Threads that can know of each other: those of a cluster."""
        self.agent: Array = np.arange(lanes) % self.domain
        self.clock: Array = np.zeros(lanes, np.int64)
        self.epoch: Array = np.zeros(blocks, np.int64)
        self.floor: Array = np.zeros(lanes, np.int64)
        """The least key of the lane's block that no barrier of the whole block has ordered."""
        self.key: Array = self.agent << OP_BITS
        """What an access by the lane leaves, without the op."""
        self._agents = self.domain
        self._rows = _Rows(lanes)
        self._warp_known: Array = np.full(lanes, NEVER, np.int64)
        """The clock of each lane when its warp last synchronised."""

    def new_agent(self) -> int:
        """A new asynchronous agent, of every cluster of the frame; its clock starts at 0."""
        self._agents += 1
        return self._agents - 1

    def async_key(self, agent: int, clock: Any) -> Any:
        """What an access by an asynchronous agent at a time leaves, without the op."""
        return ASYNC_EPOCH * EPOCH_UNIT + clock * CLOCK_UNIT + (agent << OP_BITS)

    # Synchronisation

    def sync_blocks(self, blocks: Array) -> None:
        """A barrier of each of these blocks as a whole."""
        self.epoch[blocks] += 1
        self.floor.reshape(-1, self.threads)[blocks] = (self.epoch[blocks] * EPOCH_UNIT)[:, None]
        for block in blocks:
            self._rows.share(np.arange(block * self.threads, (block + 1) * self.threads))
        self._rekey(slice(None))

    def release(self, lanes: Array) -> Array:
        """What these lanes, of one cluster, make known together: a row of clocks by agent. Their clocks advance."""
        row = self._rows.joined(lanes, self._agents)
        mates = (np.unique(lanes // WARP)[:, None] * WARP + np.arange(WARP)).reshape(-1)
        row[self.agent[mates]] = np.maximum(row[self.agent[mates]], self._warp_known[mates])
        row[self.agent[lanes]] = np.maximum(row[self.agent[lanes]], self.clock[lanes])
        self.advance(lanes)
        return row

    def acquire(self, lanes: Array, row: Array) -> None:
        """These lanes learn what a row says."""
        self._rows.learn(lanes, row)

    def learn(self, lanes: Array, agent: int, clock: int) -> None:
        """These lanes learn that an asynchronous agent's accesses up to a clock are complete."""
        row = np.full(agent + 1, NEVER, np.int64)
        row[agent] = clock
        self._rows.learn(lanes, row)

    def sync_warps(self, lanes: Array) -> None:
        """A barrier of each warp of these lanes, all of whose lanes are among them."""
        self._warp_known[lanes] = self.clock[lanes]
        for warp in self._rows.mixed(lanes.reshape(-1, WARP)):
            self._rows.share(warp)
        self.advance(lanes)

    def advance(self, lanes: Any) -> None:
        """What these lanes do from now on comes after what they have made known."""
        self.clock[lanes] += 1
        self._rekey(lanes)

    def _rekey(self, lanes: Any) -> None:
        agents = self.agent[lanes]
        self.key[lanes] = self.floor[lanes] + self.clock[lanes] * CLOCK_UNIT + (agents << OP_BITS)

    # Questions

    def unordered(self, lanes: Array, keys: Array) -> Array:
        """Whether accesses that left these keys, one for each lane, are by another agent and not ordered before what
        the lane does now."""
        suspect = (keys >= self.floor[lanes]) & (agent_of(keys) != self.agent[lanes])
        if not suspect.any():
            return suspect
        which = np.nonzero(suspect)
        suspect[which] = ~self._knows(np.broadcast_to(lanes, suspect.shape)[which], keys[which])
        return suspect

    def _knows(self, lanes: Array, keys: Array) -> Array:
        agents, clocks = agent_of(keys), clock_of(keys)
        base = lanes - self.agent[lanes]
        is_thread = agents < self.domain
        other = np.where(is_thread, base + agents, lanes)
        mates = is_thread & (other // WARP == lanes // WARP)
        knows = mates & (clocks <= self._warp_known[other])
        return knows | (self._rows.of(lanes, agents) >= clocks)


class _Rows:
    """For each lane a row: the clock up to which it knows each agent's accesses to be complete. Lanes that know the
    same have one row, which is never changed."""

    def __init__(self, lanes: int):
        self._row_of: Array = np.zeros(lanes, np.int64)
        self._table: Array = np.full((1, 0), NEVER, np.int64)
        self._used = 1

    def of(self, lanes: Array, agents: Array) -> Array:
        """What each lane knows of an agent."""
        width = self._table.shape[1]
        if width == 0:
            return np.full(lanes.shape, NEVER)
        found = self._table[self._row_of[lanes], np.minimum(agents, width - 1)]
        return np.where(agents < width, found, NEVER)

    def joined(self, lanes: Array, agents: int) -> Array:
        """What these lanes know together, of so many agents."""
        row = np.full(max(agents, self._table.shape[1]), NEVER, np.int64)
        row[: self._table.shape[1]] = self._table[np.unique(self._row_of[lanes])].max(axis=0, initial=NEVER)
        return row

    def learn(self, lanes: Array, row: Array) -> None:
        """These lanes learn a row."""
        self._widen(len(row))
        ids, places = np.unique(self._row_of[lanes], return_inverse=True)
        # All of them first: a new row can renumber those that there are.
        for place, known in enumerate(self._table[ids]):
            known[: len(row)] = np.maximum(known[: len(row)], row)
            self._row_of[lanes[places == place]] = self._add(known)

    def share(self, lanes: Array) -> None:
        """These lanes learn what one of them knows."""
        if (self._row_of[lanes] != self._row_of[lanes[0]]).any():
            self._row_of[lanes] = self._add(self.joined(lanes, 0))

    def mixed(self, groups: Array) -> Array:
        """Of rows of lanes those that do not all know the same."""
        known = self._row_of[groups]
        return groups[(known != known[:, :1]).any(axis=1)]

    def _widen(self, agents: int) -> None:
        missing = agents - self._table.shape[1]
        if missing > 0:
            self._table = np.pad(self._table, ((0, 0), (0, missing)), constant_values=NEVER)

    def _add(self, row: Array) -> int:
        """The number of a new row."""
        if self._used == len(self._table):
            live, self._row_of = np.unique(self._row_of, return_inverse=True)
            self._used = len(live)
            grown = np.full((2 * len(live) + 16, self._table.shape[1]), NEVER, np.int64)
            grown[: len(live)] = self._table[live]
            self._table = grown
        self._table[self._used] = row
        self._used += 1
        return self._used - 1
