"""The config of a kernel of elementwise work that reads windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from irc.analysis.op_classes import is_window, shape_of
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.ir.dtypes import element_of
from irc.ir.iteration import Iteration, Kind, iteration_of
from irc.ir.targets import Target
from irc.layout.affine import slope_of
from irc.layout.requests import WIDEST
from irc.layout.windows import MAX_WINDOW_REGISTERS, Reach, Read, closest_runs, registers
from irc.support.integers import ceil_div

THREADS = 256
PRODUCT_THREADS = 128
"""Where elements of windows are multiplied: threads have many elements then, all the registers that they need, and
blocks end at different times."""

MAX_HELD = 96
"""Elements that a thread reads, so that it has them in registers, and an SM has threads enough."""

MAX_HELD_TOGETHER = 128
"""The same of a kernel of several windows, which takes the registers of half as many threads."""

ROWS = (4, 2, 1)
"""Neighbors of a thread along the outermost dimension that windows reach along."""

PRODUCTS = (32, 16, 8, 4, 2)
"""Elements of a thread where those of windows are multiplied."""


def reads_windows(kernel: FusedOp) -> bool:
    return any(is_window(op) for op in kernel.block.ops)


def multiplies_windows(kernel: FusedOp) -> bool:
    """Whether elements of windows are multiplied. ptxas chooses the registers of such a kernel: what a thread reads is
    many loads of one loop, and told of room it moves up more of them than it needs. On an H200 3x3 windows of a channel
    each took 144 us for 134, in 32 groups 726 for 616."""
    return any(is_window(op) and len(op.operands) > 1 for op in kernel.block.ops)


def choose_windows(kernel: FusedOp, machine: Target) -> ConfigAttr:
    """As many elements for a thread as leave room for what their windows read together."""
    shapes = [shape_of(value) for value in kernel.outputs]
    elements = max(map(prod, shapes), default=1)
    vector = max(1, WIDEST // max((element_of(value.type).size for value in kernel.outputs), default=4))
    windows = [op for op in kernel.block.ops if is_window(op)]
    each = min((_elements(op, vector) for op in windows), default=vector)
    multiplies = multiplies_windows(kernel)
    is_crowded = not multiplies and len(windows) > 1 and _held(windows, vector) > 2 * MAX_HELD
    while is_crowded and each > 1 and (each > vector or _held(windows, each) > MAX_HELD_TOGETHER):
        each //= 2
    threads = PRODUCT_THREADS if multiplies else THREADS
    while each > 1 and ceil_div(elements, threads * each) < machine.sms:
        each //= 2
    while threads > 32 and ceil_div(elements, threads * each) < machine.sms:
        threads //= 2
    occupancy = 2 if is_crowded else None
    return ConfigAttr.of(tile=TileSizes(d=threads * each), warps=threads // 32, schedule="grid", occupancy=occupancy)


def _held(windows: Sequence[Operation], each: int) -> int:
    """Elements that so many neighbors of the result read of all windows."""
    return sum(read.elements for op in windows for read in _Windows.of(op).read((each, 1)))


def _elements(op: Operation, vector: int) -> int:
    """Those of the result that a thread has."""
    windows = _Windows.of(op)
    if len(op.operands) == 1:
        return vector * next((rows for rows in ROWS if windows.read((vector, rows))[0].elements <= MAX_HELD), 1)
    size = max(element_of(operand.type).size for operand in op.operands)
    for each in PRODUCTS:
        run = min(each, vector)
        if windows.is_along:
            is_apart = windows.depth > 1 and windows.row % run
            read = windows.read_apart(each) if is_apart else windows.read((run, each // run))
        elif each >= vector:
            read = windows.read(closest_runs(each, vector, size, windows.extents, windows.read))
        else:
            return vector
        if registers(read, each) <= MAX_WINDOW_REGISTERS:
            return each
    return 1 if windows.is_along else vector


@dataclass(frozen=True)
class _Windows:
    """An op's windows; `inner` is the dimension along which the result is contiguous, `outer` are two others that
    windows reach along, the outermost first. `is_along`: windows reach along the inner one."""

    op: Operation
    iteration: Iteration
    inner: int
    outer: tuple[int, ...]
    is_along: bool

    @staticmethod
    def of(op: Operation) -> _Windows:
        iteration = iteration_of(op)
        exprs = [e for access in iteration.inputs for e in access.map.results]
        reached = {i for e in exprs for i in _reached(iteration, e, overlap=len(op.operands) > 1)}
        long = [i for e in iteration.result.results for i in e.used_dims() if iteration.dims[i].extent > 1]
        inner = long[-1] if long else -1
        return _Windows(op, iteration, inner, tuple(i for i in long[:-1] if i in reached)[:2], inner in reached)

    @property
    def extents(self) -> list[int]:
        """Of the outer dimensions."""
        return [self.iteration.dims[i].extent for i in self.outer]

    @property
    def depth(self) -> int:
        """Places of a window along axes that it does not move along: channels of a group."""
        exprs = [e for access in self.iteration.inputs for e in access.map.results]
        moved = {i for e in exprs if self._is_moved(e) for i in e.used_dims()}
        return prod(d.extent for i, d in enumerate(self.iteration.dims) if d.kind is Kind.WINDOW and i not in moved)

    def _is_moved(self, expr: AffineExpr) -> bool:
        return any(i in (self.inner, *self.outer) for i in expr.used_dims())

    @property
    def row(self) -> int:
        """Elements of the result that lie side by side along one dimension."""
        return self.iteration.dims[self.inner].extent if self.inner >= 0 else 1

    def read_apart(self, each: int) -> list[Read]:
        """What each operand's windows read of a thread's elements that are in several rows: none of it twice."""
        return [replace(one, axes=(Reach(each, 1, 0, 1), *one.axes)) for one in self.read(())]

    def read(self, runs: Sequence[int]) -> list[Read]:
        """What each operand's windows read of a thread's elements, so many side by side along each dimension."""
        counts = dict(zip((self.inner, *self.outer), runs, strict=False))
        accesses = zip(self.op.operands, self.iteration.inputs, strict=True)
        return [
            Read(tuple(self._reach(expr, counts) for expr in access.map.results), element_of(operand.type).size)
            for operand, access in accesses
        ]

    def _reach(self, expr: AffineExpr, counts: Mapping[int, int]) -> Reach:
        """Along an axis of an operand. Where it is divided, neighbors are taken to read neighbors."""
        dims = self.iteration.dims
        slopes = {i: abs(1 if (slope := slope_of(expr, i)) is None else slope) for i in expr.used_dims()}
        taps = [i for i in slopes if dims[i].kind is Kind.WINDOW]
        moving = [i for i in slopes if i not in taps and counts.get(i, 1) > 1]
        reach = sum(slopes[i] * (dims[i].extent - 1) for i in taps)
        places = prod(dims[i].extent for i in taps)
        return Reach(prod(counts[i] for i in moving), max((slopes[i] for i in moving), default=0), reach, places)


def _reached(iteration: Iteration, expr: AffineExpr, *, overlap: bool) -> Iterator[int]:
    """The dimensions of the result along which windows reach over several places of a coordinate of an access; with
    `overlap`, those alone along which neighbors read some of the same elements, but not all of them."""
    used = {i: slope_of(expr, i) for i in expr.used_dims()}
    taps = [i for i in used if iteration.dims[i].kind is Kind.WINDOW]
    reach = sum(abs(used[i] or 1) * (iteration.dims[i].extent - 1) for i in taps)
    steps = {i: 1 if not overlap else reach + 1 if slope is None else abs(slope) for i, slope in used.items()}
    return (i for i, step in steps.items() if i not in taps and step <= reach)
