"""How what a product contracts is cut into parts of one extent, which blocks sum by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import gcd, prod

from xdsl.ir import Operation

from irc.analysis.op_classes import is_grouped, is_product, shape_of
from irc.analysis.window_operands import can_be_moved, run_of
from irc.ir.iteration import iteration_of


def extents_to_cut(op: Operation) -> tuple[int, ...]:
    """The contracted extents that can be cut, in the order in which they are: the outermost one of a product; those of
    a convolution in the order of x, but for channels that are a run at each tap, for pixels that TMA cannot begin at,
    and for taps that not every place has. Groups whose ends are data are not cut."""
    iteration = iteration_of(op)
    if is_grouped(op):
        return ()
    if is_product(op):
        contracted = iteration.axes(iteration.inputs[0].map, "k")
        return (shape_of(op.operands[0])[min(contracted)],) if contracted else ()
    dims = iteration.along(iteration.inputs[0].map, "k")
    tested = {i for bound in iteration.inputs[1].inside for i in bound.expr.used_dims()}
    dims = takewhile(lambda i: can_be_moved(op, i) and i not in tested, dims[:-1] if run_of(op) else dims)
    return tuple(iteration.dims[i].extent for i in dims)


def divided(extents: Sequence[int], parts: int) -> tuple[int, ...] | None:
    """Into how many parts each of the extents is cut, for so many ranges of one extent in all: the first ones into
    single elements, until a last one is cut. None where there are no such parts."""
    counts: list[int] = []
    for extent in extents:
        counts.append(gcd(extent, parts))
        parts //= counts[-1]
        if counts[-1] != extent:
            break
    return tuple(counts) if parts == 1 and prod(extents) > 0 else None
