"""Loops and branches: one side after the other under masks, or as strands side by side where both can wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects import scf

from irc.interpreters.sim.code import Body, KernelCode, Step, controls
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.strands import Fork, Routine, Strand

MAX_ROUNDS = 100_000
"""Of a conditional loop: one that waits for another block would go on for ever."""


def _narrowed(outer: Array | None, condition: Array) -> Array:
    return condition if outer is None else condition & outer


def _chosen(condition: Any, chosen: Any, other: Any) -> Any:
    return other if chosen is None else chosen if other is None else np.where(condition, chosen, other)


def _step(routine: Callable[[Strand], Routine], waits: bool) -> tuple[Step, bool]:
    """The step of a routine; one that cannot wait is run to its end at once."""

    def run(s: Strand) -> None:
        for _ in routine(s):
            raise AssertionError("what cannot wait has waited")

    return (routine, True) if waits else (run, False)


@controls(scf.IfOp)
def branch(
    code: KernelCode, op: scf.IfOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """A side that no lane takes is not run."""
    (condition,) = operands
    waits = [body is not None and body.waits for body in bodies]

    def taken(s: Strand, test: Any) -> list[tuple[int, Any]]:
        """The sides that lanes take, each with their mask."""
        if np.ndim(test) == 0:
            return [(0 if test else 1, s.mask)]
        masks = [(0, _narrowed(s.mask, test)), (1, _narrowed(s.mask, ~test))]
        sides = [(side, mask) for side, mask in masks if mask.any()]
        return sides if len(sides) == 2 else [(side, s.mask) for side, _ in sides]

    def routine(s: Strand) -> Routine:
        test, outer = s.env[condition], s.mask
        sides, found = taken(s, test), list[Any]((None, None))
        if len(sides) == 2 and all(waits):
            pairs = zip(sides, bodies, strict=True)
            found = yield Fork([s.split(mask).run_waiting(body) for (_, mask), body in pairs if body is not None])
            sides = []
        # The side that cannot wait goes first: the other may wait for what it does.
        for side, mask in sorted(sides, key=lambda each: waits[each[0]]):
            if (body := bodies[side]) is not None:
                s.mask = mask
                found[side] = (yield from s.run_waiting(body)) if body.waits else s.run(body)
        s.mask = outer
        for i, slot in enumerate(results):
            s.env[slot] = _chosen(test, *(values and values[i] for values in found))

    return _step(routine, any(waits))


@controls(scf.ForOp)
def counted_loop(
    code: KernelCode, op: scf.ForOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """A loop whose bounds differ between lanes goes on until the last has finished."""
    lower, upper, step, *initial = operands
    (body,) = bodies
    assert body is not None
    counter, *carried = body.arguments

    def rounds(s: Strand, low: Any, high: Any, by: Any) -> Iterator[tuple[Any, Array | None]]:
        """The counter in each round, with the lanes that take part; None for those that the loop is entered with."""
        if np.ndim(low) == np.ndim(high) == np.ndim(by) == 0:
            kind = low.dtype.type
            yield from ((kind(i), None) for i in range(int(low), int(high), max(int(by), 1)))
            return
        outer = s.mask
        while (mask := _narrowed(outer, np.broadcast_to(low < high, (s.frame.lane_count,)))).any():
            yield low, mask
            low = low + by

    def routine(s: Strand) -> Routine:
        env, outer = s.env, s.mask
        low, high, by = env[lower], env[upper], env[step]
        for slot, source in zip(carried, initial, strict=True):
            env[slot] = env[source]
        for i, mask in rounds(s, low, high, by):
            if mask is not None:
                s.mask = None if outer is None and mask.all() else mask
            env[counter] = i
            values = (yield from s.run_waiting(body)) if body.waits else s.run(body)
            for slot, value in zip(carried, values, strict=True):
                env[slot] = value if mask is None else np.where(mask, value, env[slot])
        s.mask = outer
        for slot, source in zip(results, carried, strict=True):
            env[slot] = env[source]

    return _step(routine, body.waits)


@controls(scf.WhileOp)
def conditional_loop(
    code: KernelCode, op: scf.WhileOp, operands: Sequence[int], results: Sequence[int], bodies: Sequence[Body | None]
) -> tuple[Step, bool]:
    """Lanes whose condition fails keep the values that they leave with."""
    before, after = bodies
    assert before is not None
    assert after is not None

    def routine(s: Strand) -> Routine:
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

    return _step(routine, before.waits or after.waits)
