"""The config of a kernel of elementwise work that reads windows."""

from __future__ import annotations

from math import prod

from irc.analysis.op_classes import is_window, shape_of
from irc.dialects import nd
from irc.dialects.kernel import ConfigAttr, FusedOp, TileSizes
from irc.dialects.nd.base import ints
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.support.integers import ceil_div

VECTOR = 16
"""Bytes of the widest access of a thread."""

THREADS = 256

MAX_HELD = 96
"""Elements that a thread reads, so that it has them in registers, and an SM has threads enough."""

ROWS = (4, 2, 1)
"""Neighbors of a thread along the outermost dimension that windows reach along."""


def reads_windows(kernel: FusedOp) -> bool:
    return any(is_window(op) for op in kernel.block.ops)


def choose_windows(kernel: FusedOp, machine: Target) -> ConfigAttr:
    """A vector of each of as many neighboring rows as leave room for what their windows read together."""
    shapes = [shape_of(value) for value in kernel.outputs]
    elements = max(map(prod, shapes), default=1)
    vector = max(1, VECTOR // max((element_of(value.type).size for value in kernel.outputs), default=4))
    windows = [op for op in kernel.block.ops if isinstance(op, nd.ReduceWindowOp)]
    rows = next((n for n in ROWS if all(_held(op, n, vector) <= MAX_HELD for op in windows)), 1)
    each, threads = vector * rows, THREADS
    while each > 1 and ceil_div(elements, threads * each) < machine.sms:
        each //= 2
    while threads > 32 and ceil_div(elements, threads * each) < machine.sms:
        threads //= 2
    return ConfigAttr.of(tile=TileSizes(d=threads * each), warps=threads // 32, schedule="grid")


def _held(op: nd.ReduceWindowOp, rows: int, vector: int) -> int:
    """Elements that the windows read of a vector of places in each of so many rows."""
    shape, window, strides, dilation = shape_of(op.result), *(ints(p) for p in (op.window, op.strides, op.dilation))
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    inner = long[-1] if long else len(shape) - 1
    outer = next((axis for axis, places in enumerate(window) if places > 1 and axis != inner), None)
    held = 1
    for axis, places in enumerate(window):
        count = vector if axis == inner else rows if axis == outer else 1
        apart = min(count - 1, 1) and strides[axis]
        covered = (count - 1) * apart + (places - 1) * dilation[axis] + 1
        held *= covered if count > 1 else places
    return held
