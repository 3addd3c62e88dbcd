"""Which accesses come before which: vector clocks of the threads of a batch.

Every thread has a clock, which a release (an arrival at a barrier) advances. An access leaves a *key* behind: the
block's epoch, the clock, the agent and the op. It is ordered before a later one of another thread

- where the block has passed a barrier of the whole block since: then its epoch is older;
- where the other thread knows the agent's clock of that time: it acquired, at the end of a wait, a row of clocks that
  the agent, or one that knew of it, released.

This is FastTrack's scheme (Flanagan and Freund, PLDI 2009), with barriers of the whole block folded into epochs, so
that kernels without other barriers need no rows at all.

An agent is a thread of the cluster (its number in it) or an asynchronous unit (`new_agents`): the accesses of one have
no epoch, as a barrier of the block does not wait for them; only the clock that is released on their behalf orders them.

A released row of clocks has two planes: what is complete, and what of it was fenced for the asynchronous proxy, which
does not see the writes of threads otherwise.
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
"""A clock before all others."""
UNTOUCHED = 0
"""The key of a byte that was not accessed: no epoch is 0."""

WARP = 32


def lanes_of(warps: Array) -> Array:
    """The lanes of warps, in order."""
    return (warps[:, None] * WARP + np.arange(WARP)).reshape(-1)


def agent_of(keys: Any) -> Any:
    """The agents of keys."""
    return (keys >> OP_BITS) & AGENT_MASK


def clock_of(keys: Any) -> Any:
    """The clocks of keys."""
    return (keys // CLOCK_UNIT) & CLOCK_MASK


def op_of(keys: Any) -> Any:
    """The numbers of the ops of keys."""
    return keys & OP_MASK


def merged(a: Array | None, b: Array) -> Array:
    """What two released rows make known together; those made before an agent came are narrower."""
    if a is None:
        return b
    if a.shape[1] < b.shape[1]:
        a, b = b, a
    made = a.copy()
    made[:, : b.shape[1]] = np.maximum(made[:, : b.shape[1]], b)
    return made


class Clocks:
    """The clocks of a frame: `blocks` blocks of `threads` threads (whole warps), in clusters of `cluster` blocks."""

    def __init__(self, blocks: int, threads: int, cluster: int):
        lanes = blocks * threads
        self.threads = threads
        self.domain = threads * cluster
        """Threads that can know of each other: those of a cluster."""
        self.agent: Array = np.arange(lanes) % self.domain
        self.clock: Array = np.zeros(lanes, np.int64)
        self.epoch: Array = np.ones(blocks, np.int64)
        self.floor: Array = np.full(lanes, EPOCH_UNIT)
        """The least key of the lane's block that no barrier of the whole block has ordered."""
        self.key: Array = self.floor + (self.agent << OP_BITS)
        """What an access by the lane leaves, without the op."""
        self._agents = self.domain
        self._generic: list[tuple[int, int]] = [(0, self.domain)]
        """Ranges of the agents whose writes go through the generic proxy."""
        self._known = _Rows(lanes)
        self._fenced = _Rows(lanes)
        self._warp_known: Array = np.full(lanes, NEVER, np.int64)
        """The clock of each lane when its warp last synchronized."""
        self._block_known: Array = np.full(lanes, NEVER, np.int64)
        """The clock of each lane when its block last synchronized."""
        self._own_fenced: Array = np.full(lanes, NEVER, np.int64)
        """The clock of each lane when it last fenced for the asynchronous proxy."""
        self._unit: Array = np.full(lanes, NEVER, np.int64)
        """The agent of each lane's own generic unit, where there are such."""
        self._own_unit: Array = np.full(lanes, NEVER, np.int64)
        """The clock up to which each lane knows its own unit's accesses to be complete."""

    def new_agents(self, count: int = 1) -> int:
        """The first of new asynchronous agents, of every cluster of the frame; their clocks start at 0."""
        self._agents += count
        return self._agents - count

    def new_units(self) -> Array:
        """For each lane an asynchronous agent of its own, whose writes go through the generic proxy. Once a frame."""
        first = self.new_agents(self.domain)
        self._generic.append((first, first + self.domain))
        self._unit = first + self.agent
        return self._unit

    def async_key(self, agent: Any, clock: Any) -> Any:
        """What an access by an asynchronous agent at a time leaves, without the op."""
        return ASYNC_EPOCH * EPOCH_UNIT + clock * CLOCK_UNIT + (agent << OP_BITS)

    def blank(self) -> Array:
        """A row to release that says nothing."""
        return np.full((2, self._agents), NEVER, np.int64)

    # Synchronization

    def sync_blocks(self, blocks: Array) -> None:
        """A barrier of each of these blocks as a whole."""
        self.epoch[blocks] += 1
        self.floor.reshape(-1, self.threads)[blocks] = (self.epoch[blocks] * EPOCH_UNIT)[:, None]
        for block in blocks:
            self._share(np.arange(block * self.threads, (block + 1) * self.threads))
        lanes = (blocks[:, None] * self.threads + np.arange(self.threads)).reshape(-1)
        self._block_known[lanes] = self.clock[lanes]
        self.advance(lanes)

    def sync_cluster(self, blocks: Array) -> None:
        """A barrier of a whole cluster, of these blocks."""
        lanes = (blocks[:, None] * self.threads + np.arange(self.threads)).reshape(-1)
        self._share(lanes)
        self._known.learn(lanes, _row(self.agent[lanes], self.clock[lanes]))
        self.sync_blocks(blocks)

    def sync_warps(self, lanes: Array) -> None:
        """A barrier of each warp of these lanes, all of whose lanes are among them."""
        self._warp_known[lanes] = self.clock[lanes]
        warps = lanes.reshape(-1, WARP)
        personal = (self._own_fenced[warps] != NEVER) | (self._own_unit[warps] != NEVER)
        for warp in warps[self._known.is_mixed(warps) | self._fenced.is_mixed(warps) | personal.any(axis=1)]:
            self._share(warp)
        self.advance(lanes)

    def _share(self, lanes: Array) -> None:
        """These lanes learn what one of them knows, of others and of what is its own."""
        self._known.share(lanes)
        self._fenced.share(lanes)
        for rows, agents, clocks in (
            (self._known, self._unit, self._own_unit),
            (self._fenced, self.agent, self._own_fenced),
        ):
            own = lanes[clocks[lanes] != NEVER]
            if len(own):
                rows.learn(lanes, _row(agents[own], clocks[own]))

    def release(self, lanes: Array) -> Array:
        """What these lanes, of one block, make known together: a row of clocks by agent. Their clocks advance."""
        row = self.blank()
        row[0], row[1] = self._known.joined(lanes, self._agents), self._fenced.joined(lanes, self._agents)
        mates = lanes_of(np.unique(lanes // WARP))
        _raise(row[0], self.agent[mates], self._warp_known[mates])
        if self.domain > self.threads:
            block = lanes[0] // self.threads * self.threads + np.arange(self.threads)
            _raise(row[0], self.agent[block], self._block_known[block])
        _raise(row[0], self.agent[lanes], self.clock[lanes])
        _raise(row[0], self._unit[lanes], self._own_unit[lanes])
        _raise(row[1], self.agent[lanes], self._own_fenced[lanes])
        self.advance(lanes)
        return row

    def asynchronous(self, lane: int) -> Array:
        """What a lane knows of agents that are no threads, and whose writes need no fence: a row of clocks by agent."""
        row, one = self.blank(), np.array([lane])
        row[0], row[1] = self._known.joined(one, self._agents), self._fenced.joined(one, self._agents)
        for first, end in self._generic:
            row[:, first:end] = NEVER
        return row

    def acquire(self, lanes: Array, row: Array) -> None:
        """These lanes learn what a released row says."""
        self._known.learn(lanes, row[0])
        if (row[1] != NEVER).any():
            self._fenced.learn(lanes, row[1])

    def learn(self, lanes: Array, agent: int, clock: int) -> None:
        """These lanes learn that an asynchronous agent's accesses up to a clock are complete. Its proxy needs no
        fence."""
        row = _row(np.array([agent]), np.array([clock]))
        self._known.learn(lanes, row)
        self._fenced.learn(lanes, row)

    def learn_units(self, lanes: Array, clocks: Array) -> None:
        """Each of these lanes learns that its own unit's accesses up to a clock are complete."""
        self._own_unit[lanes] = np.maximum(self._own_unit[lanes], clocks)

    def fence_proxy(self, lanes: Array) -> None:
        """What these lanes know, or have done, is fenced for the asynchronous proxy."""
        for row, members in self._known.groups(lanes):
            self._fenced.learn(members, row)
        for size, clocks in ((WARP, self._warp_known), (self.threads, self._block_known)):
            for group in np.unique(lanes // size):
                mates = np.arange(group * size, (group + 1) * size)
                if (clocks[mates] != NEVER).any():
                    self._fenced.learn(lanes[lanes // size == group], _row(self.agent[mates], clocks[mates]))
        for lane in lanes[self._own_unit[lanes] != NEVER]:
            one = np.array([lane])
            self._fenced.learn(one, _row(self._unit[one], self._own_unit[one]))
        self._own_fenced[lanes] = self.clock[lanes]
        self.advance(lanes)

    def advance(self, lanes: Any) -> None:
        """What these lanes do from now on comes after what they have made known."""
        self.clock[lanes] += 1
        agents = self.agent[lanes]
        self.key[lanes] = self.floor[lanes] + self.clock[lanes] * CLOCK_UNIT + (agents << OP_BITS)

    # Questions

    def unordered(self, lanes: Array, keys: Array) -> Array:
        """Whether accesses that left these keys, one for each lane, are by another agent and not ordered before what
        the lane does now."""
        agents, own = agent_of(keys), self.agent[lanes]
        suspect = (keys >= self.floor[lanes]) & (agents != own)
        if self.domain > self.threads:
            elsewhere = (agents < self.domain) & (agents // self.threads != own // self.threads)
            suspect |= elsewhere & (keys != UNTOUCHED)
        if not suspect.any():
            return suspect
        which = np.nonzero(suspect)
        suspect[which] = ~self._orders(np.broadcast_to(lanes, suspect.shape)[which], keys[which])
        return suspect

    def _orders(self, lanes: Array, keys: Array) -> Array:
        agents, clocks = agent_of(keys), clock_of(keys)
        base = lanes - self.agent[lanes]
        is_thread = agents < self.domain
        other = np.where(is_thread, base + agents, lanes)
        mates = is_thread & (other // WARP == lanes // WARP) & (clocks <= self._warp_known[other])
        unit = (agents == self._unit[lanes]) & (clocks <= self._own_unit[lanes])
        return mates | unit | self.knows(lanes, agents, clocks)

    def knows(self, lanes: Array, agents: Array, clocks: Array) -> Array:
        """Whether each lane has learned from others that an agent's accesses up to a clock are complete."""
        return self.known(lanes, agents) >= clocks

    def known(self, lanes: Array, agents: Array) -> Array:
        """The clock up to which each lane has learned that an agent's accesses are complete."""
        return self._known.of(lanes, agents)

    def unfenced(self, lanes: Array, keys: Array) -> Array:
        """Whether the writes that left these keys are by the generic proxy, and no fence makes them visible to what the
        asynchronous one does now for a lane."""
        agents, clocks = agent_of(keys), clock_of(keys)
        lanes = np.broadcast_to(lanes, keys.shape)
        generic = np.zeros(keys.shape, np.bool_)
        for first, end in self._generic:
            generic |= (agents >= first) & (agents < end)
        own = (agents == self.agent[lanes]) & (clocks <= self._own_fenced[lanes])
        return (keys != UNTOUCHED) & generic & ~own & (self._fenced.of(lanes, agents) < clocks)


def _row(agents: Array, clocks: Array) -> Array:
    """What says that these agents' accesses up to their clocks are complete."""
    row = np.full(int(agents.max()) + 1, NEVER, np.int64)
    row[agents] = clocks
    return row


def _raise(row: Array, agents: Array, clocks: Array) -> None:
    """Put clocks of agents, all different, into a row; those without an agent have no clock."""
    some = clocks != NEVER
    row[agents[some]] = np.maximum(row[agents[some]], clocks[some])


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
        ids, inverse = np.unique(self._row_of[lanes], return_inverse=True)
        # All of them first: a new row can renumber those that there are.
        for at, known in enumerate(self._table[ids]):
            known[: len(row)] = np.maximum(known[: len(row)], row)
            self._row_of[lanes[inverse == at]] = self._add(known)

    def share(self, lanes: Array) -> None:
        """These lanes learn what one of them knows."""
        if (self._row_of[lanes] != self._row_of[lanes[0]]).any():
            self._row_of[lanes] = self._add(self.joined(lanes, 0))

    def is_mixed(self, groups: Array) -> Array:
        """For each row of lanes whether they do not all know the same."""
        known = self._row_of[groups]
        return (known != known[:, :1]).any(axis=1)

    def groups(self, lanes: Array) -> list[tuple[Array, Array]]:
        """Each row that some of these lanes have, with those lanes."""
        ids, inverse = np.unique(self._row_of[lanes], return_inverse=True)
        return [(row, lanes[inverse == at]) for at, row in enumerate(self._table[ids])]

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
