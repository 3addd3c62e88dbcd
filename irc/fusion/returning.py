"""Whether one kernel reduces its rows and reads them again, as a softmax does, or several kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irc.analysis.runs import LONGEST_COLUMN, short_run
from irc.ir.targets import Target
from irc.support.integers import ceil_div

LONGEST_ROW = 1 << 14
"""Elements that one block can reduce and use again, when there are too few rows to fill a GPU."""

ENOUGH_ROWS = 64
"""Rows that keep a GPU busy with a block for each, unless they are very long."""

COLUMNS = 16
"""Columns that a block reduces together at least, where rows are columns of memory."""

CACHED_BYTES = 2
"""Of an element, about, of an array that the L2 may still have when it is read again."""


def can_return(domain: Sequence[int], axes: Sequence[int], machine: Target) -> bool:
    """Whether blocks can reduce the rows of a domain, along these axes, and then read them again: not when a few with
    huge rows would keep the rest of the GPU idle for longer than the launches of more kernels take. Columns, and rows
    of short runs, that no block holds are read by other kernels, whole lines at once: of columns where the L2 does not
    have the array, as all of it is read before it is read again."""
    is_column = next((axis not in axes for axis in reversed(range(len(domain))) if domain[axis] > 1), False)
    has_short_runs = short_run(domain, axes) > 1
    size, extent = prod(domain), prod(domain[axis] for axis in axes)
    if extent > LONGEST_COLUMN and (has_short_runs or (is_column and CACHED_BYTES * size > machine.l2)):
        return False
    rows = size // max(1, extent)
    if not is_column and (extent <= LONGEST_ROW or rows < ENOUGH_ROWS):
        return extent <= LONGEST_ROW
    blocks = max(1, ceil_div(rows, COLUMNS) if is_column else rows)
    return size * (1 / blocks - 1 / machine.sms) <= machine.costs.idle_elements
