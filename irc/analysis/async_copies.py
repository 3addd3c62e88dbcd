"""Which accesses threads can make as asynchronous copies to shared memory (PTX ISA, cp.async), and how threads share
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from irc.analysis.accesses import access_of
from irc.dialects.tile import AccessOp
from irc.layout.fragment import REPLICATED, Fragment, Mode

MIN_BYTES = 4
"""The narrowest copy that cp.async makes; the others are of 8 and 16 bytes."""


@dataclass(frozen=True)
class AsyncCopy:
    """A tile that threads copy in runs of `vector` elements along its dimension `inner`."""

    inner: int
    vector: int


def async_copy(op: AccessOp, shape: Sequence[int]) -> AsyncCopy | None:
    """The widest copies of a 2-d tile; None where runs are too short or begin where no copy can. A copy is inside the
    view or outside it as a whole."""
    if len(shape) != 2 or op.gathers:
        return None
    access = access_of(op)
    inner, vector = max(((d, access.vector(d, n)) for d, n in enumerate(shape)), key=lambda found: found[1])
    while vector > 1 and access.straddled(inner, vector):
        vector //= 2
    return AsyncCopy(inner, vector) if vector * access.element_bytes >= MIN_BYTES else None


def copy_fragment(shape: Sequence[int], copy: AsyncCopy, threads: int) -> Fragment:
    """Neighboring threads copy neighboring runs, then the next rows: the lines of global memory are read at once."""
    inner, outer = copy.inner, 1 - copy.inner
    runs, rows = shape[inner] // copy.vector, shape[outer]
    across = gcd(runs, threads)
    down = gcd(rows, threads // across)
    over = threads // (across * down)
    modes = [Mode(across, inner, copy.vector), Mode(down, outer, 1), Mode(over, REPLICATED, 0)]
    values = [
        Mode(copy.vector, inner, 1),
        Mode(runs // across, inner, copy.vector * across),
        Mode(rows // down, outer, down),
    ]
    fragment = Fragment(tuple(shape), tuple(m for m in modes if m.size > 1), tuple(m for m in values if m.size > 1))
    assert fragment.value_count * threads == prod(shape) * over
    return fragment
