"""Which launches of one kernel become one launch with several sets of operands.

Kernels that are too small for the device run side by side in one grid (horizontal fusion; Li et al., "Automatic
Horizontal Fusion for GPU Kernels", 2022, of one kernel with itself): that takes the time of one launch, while streams
cost an event at every fork and join, behind which no launch may start early.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from irc.support.integers import ceil_div

MAX_SETS = 128
"""More launches than that are several anyway: of one, its parameters are a few KiB at most."""

MAX_HELD = 4 << 20
"""Bytes of intermediate arrays that one launch reads and writes: the first of its sets may have been ready for long,
and their arrays live until all are."""


@dataclass(frozen=True)
class Member:
    """A step that may share a launch with others of its `kind`, `most` together; `held`: bytes of intermediate arrays
    that it touches."""

    kind: Hashable
    most: int
    held: int


def group(
    dependencies: Sequence[Sequence[int]], members: Sequence[Member | None], exchanges: Collection[int] = ()
) -> list[list[int]]:
    """The steps in groups of one and more, in an order in which every group comes behind what it needs. `dependencies`
    are without cycles; `members` has None for a step that stays by itself; `exchanges` are steps that no group delays:
    the first of them that needs a step is the same for all of a group.

    Those of a group are as far from the end of the program, in steps on the longest way there. So none needs another,
    not even by way of other groups, and no step waits for a group that it would not have to wait for soon: updates of
    parameters, which nothing needs, all come together at the end.
    """
    together: dict[Hashable, list[int]] = {}
    order = [step for (step,) in _ordered([[step] for step in range(len(dependencies))], dependencies)]
    levels, first = _levels(dependencies, order), _first(dependencies, order, exchanges)
    for step, member in enumerate(members):
        key = step if member is None else (levels[step], first[step], member.kind)
        together.setdefault(key, []).append(step)
    groups = [part for steps in together.values() for part in _parts(steps, members)]
    return _ordered(groups, dependencies)


def _levels(dependencies: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """For each step how many steps the longest way from it to the end has."""
    levels = [0] * len(dependencies)
    for step in reversed(order):
        for need in dependencies[step]:
            levels[need] = max(levels[need], levels[step] + 1)
    return levels


def _first(dependencies: Sequence[Sequence[int]], order: Sequence[int], exchanges: Collection[int]) -> list[int]:
    """For each step the number, in this order, of the first exchange that needs it; of all steps where none does."""
    first = [len(order)] * len(dependencies)
    for place, step in reversed(list(enumerate(order))):
        for need in dependencies[step]:
            first[need] = min(first[need], place if step in exchanges else first[step])
    return first


def _parts(steps: Sequence[int], members: Sequence[Member | None]) -> list[list[int]]:
    """Steps that could all be together, in as few groups as the limits allow, of about one size."""
    found = [member for step in steps if (member := members[step]) is not None]
    most = min((min(member.most, MAX_HELD // max(1, member.held)) for member in found), default=1)
    count = ceil_div(len(steps), max(1, most))
    size = ceil_div(len(steps), count)
    return [list(steps[first : first + size]) for first in range(0, len(steps), size)]


def _ordered(groups: Sequence[Sequence[int]], dependencies: Sequence[Sequence[int]]) -> list[list[int]]:
    """The groups behind what they need, otherwise by their last steps."""
    group_of = {step: index for index, steps in enumerate(groups) for step in steps}
    needs = [{group_of[need] for step in steps for need in dependencies[step]} for steps in groups]
    users: list[list[int]] = [[] for _ in groups]
    for index, each in enumerate(needs):
        for need in each:
            users[need].append(index)
    missing = [len(each) for each in needs]
    ready = [(max(steps), index) for index, steps in enumerate(groups) if not missing[index]]
    heapq.heapify(ready)
    order: list[list[int]] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(list(groups[index]))
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (max(groups[user]), user))
    assert len(order) == len(groups), "steps that need each other"
    return order
