"""How what is reduced lies in memory: the elements that follow each other, of a row or of a column."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

SHORT_RUN = 64
"""Reduced elements that follow each other in memory: so few are not worth a walk from run to run."""

MANY_RUNS = 64
"""Runs for each result for which two kernels are worth it."""

LONGEST_COLUMN = 1 << 11
"""Elements of a column, or of a row of short runs, that a block can hold beside those of its neighbors."""

LONGEST_HELD = 16384
"""Elements of a row that a block holds, so that a second pass over it reads nothing again."""


def is_held(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether a block can hold what one result is reduced from: a short row of neighbors in memory, or nothing."""
    innermost = max((axis for axis, extent in enumerate(shape) if extent != 1), default=None)
    count = prod(shape[axis] for axis in axes)
    longest = LONGEST_HELD if short_run(shape, axes) == 1 else LONGEST_COLUMN
    return prod(shape) == 0 or count == 1 or (innermost in axes and count <= longest)


def short_run(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Reduced elements that follow each other in memory, where that are few and each result has many such runs, with
    those of other results in between; else 1. A group norm with channels last has runs of a group's channels."""
    run, extent = run_of(shape, axes), prod(shape[axis] for axis in axes)
    is_short = 1 < run <= SHORT_RUN and run * MANY_RUNS <= extent
    return run if is_short and ends_reduced(shape, axes) else 1


def outer_axes(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The reduced axes outside of the innermost run."""
    last_kept = max(axis for axis, extent in enumerate(shape) if extent != 1 and axis not in axes)
    return tuple(axis for axis in axes if axis < last_kept)


def ends_reduced(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether the elements of a row follow each other in memory, those of a run at least."""
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    return not long or long[-1] in axes


def run_of(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Elements of the innermost axes that are all reduced or all kept."""
    run, first = 1, None
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1 and first is not None and (axis in axes) != first:
            break
        run *= shape[axis]
        first = (axis in axes) if shape[axis] != 1 and first is None else first
    return run
