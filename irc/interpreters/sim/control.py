"""Loops and branches: one side after the other under masks, or as strands side by side where both can wait."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects import scf

from irc.interpreters.sim.code import Body, Code, Step, controls
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.strands import Fork, Routine, Strand

MAX_ROUNDS = 100_000
"""Of a conditional loop: one that waits for another block would go on for ever."""


def _narrowed(outer: Array | None, condition: Array) -> Array:
    return condition if outer is None else condition & outer


def _chosen(condition: Any, chosen: Any, other: Any) -> Any:
    return other if chosen is None else chosen if other is None else np.where(condition, chosen, other)


@controls(scf.IfOp)
def branch(
    code: Code, op: scf.IfOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """A side that no lane takes is not run."""
    (condition,) = operands
    then, otherwise = bodies
    assert then is not None

    def split(s: Strand) -> tuple[Array | None, Array | None, Any]:
        """The lanes of each side, None for a side that none takes."""
        test = s.env[condition]
        if np.ndim(test) == 0:
            test = np.full(s.frame.lane_count, test)
        yes, no = _narrowed(s.mask, test), _narrowed(s.mask, ~test)
        return (yes if yes.any() else None), (no if no.any() else None), test

    def merge(s: Strand, test: Any, first: Sequence[Any] | None, second: Sequence[Any] | None) -> None:
        for i, slot in enumerate(results):
            s.env[slot] = _chosen(test, first and first[i], second and second[i])

    def run(s: Strand) -> None:
        test = s.env[condition]
        if np.ndim(test) == 0:
            body = then if test else otherwise
            if body is not None:
                for slot, value in zip(results, s.run(body), strict=True):
                    s.env[slot] = value
            return
        yes, no, test = split(s)
        if no is None or yes is None:
            body = then if no is None else otherwise
            if body is not None:
                for slot, value in zip(results, s.run(body), strict=True):
                    s.env[slot] = value
            return
        outer = s.mask
        s.mask = yes
        first = s.run(then)
        second: list[Any] | None = None
        if otherwise is not None:
            s.mask = no
            second = s.run(otherwise)
        s.mask = outer
        merge(s, test, first, second)

    def run_waiting(s: Strand) -> Routine:
        yes, no, test = split(s)
        outer = s.mask
        found: list[list[Any] | None] = [None, None]
        sides = [(yes, then), (no, otherwise)]
        if yes is not None and no is not None and otherwise is not None and then.waits and otherwise.waits:
            strands = [s.split(yes), s.split(no)]
            found = yield Fork([x.run_waiting(b) for x, b in zip(strands, (then, otherwise), strict=True)])
        else:
            # The side that cannot wait goes first: the other may wait for what it does.
            for place in sorted((0, 1), key=lambda place: (b := sides[place][1]) is not None and b.waits):
                mask, body = sides[place]
                if mask is not None and body is not None:
                    s.mask = mask if yes is not None and no is not None else outer
                    found[place] = (yield from s.run_waiting(body)) if body.waits else s.run(body)
            s.mask = outer
        merge(s, test, *found)

    if then.waits or (otherwise is not None and otherwise.waits):
        return run_waiting, True
    return run, False


@controls(scf.ForOp)
def counted_loop(
    code: Code, op: scf.ForOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """A loop whose bounds differ between lanes goes on until the last has finished."""
    lower, upper, step, *initial = operands
    (body,) = bodies
    assert body is not None
    counter, *carried = body.arguments

    def start(s: Strand) -> tuple[bool, Any, Any, Any]:
        env = s.env
        low, high, by = env[lower], env[upper], env[step]
        for slot, source in zip(carried, initial, strict=True):
            env[slot] = env[source]
        return np.ndim(low) == 0 and np.ndim(high) == 0 and np.ndim(by) == 0, low, high, by

    def iterations(low: Any, high: Any, by: Any) -> list[Any]:
        kind = low.dtype.type
        return [kind(i) for i in range(int(low), int(high), max(int(by), 1))]

    def active(s: Strand, at: Any, high: Any, outer: Array | None) -> Array:
        return _narrowed(outer, np.broadcast_to(at < high, (s.frame.lane_count,)))

    def carry(s: Strand, values: Sequence[Any], mask: Array | None) -> None:
        env = s.env
        for slot, value in zip(carried, values, strict=True):
            env[slot] = value if mask is None else np.where(mask, value, env[slot])

    def finish(s: Strand) -> None:
        env = s.env
        for slot, source in zip(results, carried, strict=True):
            env[slot] = env[source]

    def run(s: Strand) -> None:
        same, low, high, by = start(s)
        env = s.env
        if same:
            for i in iterations(low, high, by):
                env[counter] = i
                carry(s, s.run(body), None)
            finish(s)
            return
        outer, at = s.mask, low
        while (mask := active(s, at, high, outer)).any():
            s.mask = mask
            env[counter] = at
            carry(s, s.run(body), mask)
            at = at + by
        s.mask = outer
        finish(s)

    def run_waiting(s: Strand) -> Routine:
        same, low, high, by = start(s)
        env = s.env
        if same:
            for i in iterations(low, high, by):
                env[counter] = i
                carry(s, (yield from s.run_waiting(body)), None)
            finish(s)
            return
        outer, at = s.mask, low
        while (mask := active(s, at, high, outer)).any():
            s.mask = None if outer is None and mask.all() else mask
            env[counter] = at
            carry(s, (yield from s.run_waiting(body)), mask)
            at = at + by
        s.mask = outer
        finish(s)

    return (run_waiting, True) if body.waits else (run, False)


@controls(scf.WhileOp)
def conditional_loop(
    code: Code, op: scf.WhileOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """Lanes whose condition fails keep the values that they leave with."""
    before, after = bodies
    assert before is not None
    assert after is not None
    waiting = before.waits or after.waits

    def run_waiting(s: Strand) -> Routine:
        env, outer = s.env, s.mask
        for slot, source in zip(before.arguments, operands, strict=True):
            env[slot] = env[source]
        left: list[Any] = [None] * len(results)
        live = outer
        for rounds in count():
            s.mask = live
            if rounds == MAX_ROUNDS:
                s.fail("deadlock", op, f"a loop goes on after {MAX_ROUNDS} rounds")
            test, *values = (yield from s.run_waiting(before)) if before.waits else s.run(before)
            test = np.broadcast_to(test, (s.frame.lane_count,))
            done = _narrowed(live, ~test)
            for i, value in enumerate(values):
                left[i] = value if left[i] is None else np.where(done, value, left[i])
            live = _narrowed(live, test)
            if not live.any():
                break
            s.mask = live
            for slot, value in zip(after.arguments, values, strict=True):
                env[slot] = value
            following = (yield from s.run_waiting(after)) if after.waits else s.run(after)
            for slot, value in zip(before.arguments, following, strict=True):
                env[slot] = value
        s.mask = outer
        for slot, value in zip(results, left, strict=True):
            env[slot] = value

    def run(s: Strand) -> None:
        for _ in run_waiting(s):
            raise AssertionError("a loop that cannot wait has waited")

    return (run_waiting, True) if waiting else (run, False)
