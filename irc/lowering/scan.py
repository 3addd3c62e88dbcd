"""Inclusive scans: each thread over its own run, then lanes, then warps.

Source: Blelloch, "Prefix Sums and Their Applications".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import LANES
from irc.lowering.emitter import Index
from irc.lowering.inline import inline
from irc.lowering.partials import Partials
from irc.lowering.values import Code, Registers, tile_element
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class _Scan:
    """How a scan is spread: the threads along the axis are `stride` apart and `across` many, each with a run of `run`
    neighbors."""

    op: tile.ScanOp
    fragment: Fragment
    axis: int
    stride: int
    across: int

    @property
    def run(self) -> int:
        return self.fragment.shape[self.axis] // self.across

    @property
    def lanes(self) -> int:
        """The threads along the axis that lie in one warp."""
        return min(self.across, max(1, LANES // self.stride))

    @property
    def warps(self) -> int:
        return self.across // self.lanes

    @property
    def rows(self) -> list[Mode]:
        """The thread's values besides the run."""
        return [m for m in self.fragment.values if m.dim != self.axis]

    def at(self, row: Sequence[Index], r: Index) -> list[Index]:
        """The components of element r of the run of a row."""
        rows = iter(row)
        return [r if m.dim == self.axis else next(rows) for m in self.fragment.values]


def lower_scan(code: Code, op: tile.ScanOp) -> None:
    """A thread's values along the axis are one run of neighbors; its threads are neighbors in thread order."""
    inputs = [code.materialize(code.tile(v), tile_element(v.type)) for v in op.inputs]
    scan = _scan_of(op, inputs[0].fragment)
    results = [code.array(scan.fragment, tile_element(v.type), v.name_hint) for v in op.outputs]
    with code.nest(scan.rows) as row:
        _scan_run(code, scan, inputs, results, row)
    if scan.across > 1:
        prefixes = [code.array(scan.fragment.project([scan.axis]), tile_element(v.type)) for v in op.outputs]
        with code.nest(scan.rows) as row:
            totals = [code.element(result, scan.fragment, scan.at(row, scan.run - 1)) for result in results]
            _scan_lanes(code, scan, totals, prefixes, row)
        _scan_warps(code, scan, prefixes)
        _add_prefixes(code, scan, prefixes, results)
    code.values.update(zip(op.outputs, results, strict=True))


def _scan_of(op: tile.ScanOp, fragment: Fragment) -> _Scan:
    stride, found = 1, (1, 1)
    for mode in fragment.threads:
        if mode.dim == op.axis_value:
            if found != (1, 1) or mode.step * mode.size != fragment.shape[mode.dim]:
                raise IrcError("a scan whose threads do not hold runs of neighbors has no lowering", op.location)
            found = (stride, mode.size)
        stride *= mode.size
    return _Scan(op, fragment, op.axis_value, *found)


def _choose(code: Code, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return code.e.value(arith.SelectOp(condition, a, b))


def _scan_run(
    code: Code, scan: _Scan, inputs: Sequence[Registers], results: Sequence[Registers], row: Sequence[Index]
) -> None:
    """A thread over its own values of a row."""
    for source, result in zip(inputs, results, strict=True):
        code.set(result, scan.at(row, 0), code.element(source, scan.fragment, scan.at(row, 0)))
    if scan.run == 1:
        return
    with code.e.loop(1, scan.run, unroll=True, hint="r") as r:
        before = [code.element(result, scan.fragment, scan.at(row, code.e.sub(r, 1))) for result in results]
        values = [code.element(source, scan.fragment, scan.at(row, r)) for source in inputs]
        for result, value in zip(results, inline(code, scan.op.body, [*before, *values]), strict=True):
            code.set(result, scan.at(row, r), value)


def _scan_lanes(
    code: Code, scan: _Scan, totals: Sequence[SSAValue], prefixes: Sequence[Registers], row: Sequence[Index]
) -> None:
    """The inclusive scan of the runs' totals over the lanes of a warp."""
    e = code.e
    lane = e.rem(e.div(code.group.thread, scan.stride), scan.lanes)
    step = 1
    while step < scan.lanes:
        others = [e.value(cuda.ShuffleOp("up", t, e.i32(step * scan.stride))) for t in totals]
        reaches = e.compare("sge", lane, step)
        joined = inline(code, scan.op.body, [*others, *totals])
        totals = [_choose(code, reaches, whole, t) for whole, t in zip(joined, totals, strict=True)]
        step *= 2
    for prefix, total in zip(prefixes, totals, strict=True):
        code.set(prefix, row, total)


def _scan_warps(code: Code, scan: _Scan, prefixes: Sequence[Registers]) -> None:
    """Makes the inclusive totals of `prefixes` exclusive, and adds those of the warps before."""
    e, thread = code.e, code.group.thread
    fragment = prefixes[0].fragment
    lane = e.rem(e.div(thread, scan.stride), scan.lanes)
    warp = e.rem(e.div(thread, scan.stride * scan.lanes), scan.warps)
    partials = None
    if scan.warps > 1:
        partials = Partials.of(code, prefixes, scan.warps)
        code.access("write", partials.region)
        with e.when(e.compare("eq", lane, scan.lanes - 1)), code.each(fragment) as at:
            partials.write(at, warp)
        code.access("read", partials.region)
    with code.each(fragment) as at:
        totals = [code.element(p, fragment, at) for p in prefixes]
        shifted = [e.value(cuda.ShuffleOp("up", t, e.i32(scan.stride))) for t in totals]
        for prefix, value in zip(prefixes, shifted, strict=True):
            code.set(prefix, at, value)
        if partials is not None:
            _add_earlier_warps(code, scan, partials, at, shifted, lane, warp)


def _add_earlier_warps(
    code: Code,
    scan: _Scan,
    partials: Partials,
    at: Sequence[Index],
    shifted: Sequence[SSAValue],
    lane: Index,
    warp: Index,
) -> None:
    """Combines the totals of the warps before with what comes before the thread in its own."""
    e = code.e
    zero = e.index(0)
    element = code.colexicographic(partials.tiles[0].fragment, at)
    before = partials.read(element, 0)
    with e.loop(1, scan.warps - 1, unroll=True, hint="w") as w:
        here = partials.read(element, w)
        old = [e.value(cuda.GetOp(array, zero)) for array in before]
        new = [e.value(cuda.GetOp(array, zero)) for array in here]
        more = e.compare("slt", w, warp)
        for array, value, whole in zip(before, old, inline(code, scan.op.body, [*old, *new]), strict=True):
            e.insert(cuda.SetOp(array, zero, _choose(code, more, whole, value)))
    old = [e.value(cuda.GetOp(array, zero)) for array in before]
    joined = inline(code, scan.op.body, [*old, *shifted])
    follows, starts = e.compare("sgt", warp, 0), e.compare("eq", lane, 0)
    for prefix, mine, theirs, both in zip(partials.tiles, shifted, old, joined, strict=True):
        within = _choose(code, starts, theirs, both)
        code.set(prefix, at, _choose(code, follows, within, mine))


def _add_prefixes(code: Code, scan: _Scan, prefixes: Sequence[Registers], results: Sequence[Registers]) -> None:
    """Combines every run with what comes before it; the first thread along the axis has nothing before it."""
    e = code.e
    first = e.compare("eq", e.rem(e.div(code.group.thread, scan.stride), scan.across), 0)
    with code.nest(scan.rows) as row, e.loop(0, scan.run, unroll=True, hint="r") as r:
        values = [code.element(result, scan.fragment, scan.at(row, r)) for result in results]
        before = [code.element(prefix, prefix.fragment, row) for prefix in prefixes]
        joined = inline(code, scan.op.body, [*before, *values])
        for result, value, whole in zip(results, values, joined, strict=True):
            code.set(result, scan.at(row, r), _choose(code, first, value, whole))
