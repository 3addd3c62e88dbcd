"""What passes establish and later ones require, from the kernel level on.

Ops are known by their names here, so that no level's dialect is imported for another's.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation

from irc.analysis.op_classes import is_fusible, is_view
from irc.ir.discardable import IN_PLACE, INTERPRETED
from irc.ir.passes import Invariant

SHARED = ("tile.accumulator", "tile.alloc", "tile.channel")
"""Ops that take shared memory, at an `offset` once that is planned."""


def _first(offends: Callable[[Operation], bool]) -> Callable[[ModuleOp], Operation | None]:
    return lambda module: next((op for op in module.walk() if offends(op)), None)


def _outside(op: Operation) -> bool:
    """Whether it is work on arrays that a kernel can do and none does. Reshapes between kernels are views, and
    operands of concats may lie side by side."""
    parent = op.parent_op()
    is_free = is_view(op) or IN_PLACE in op.attributes
    return is_fusible(op) and not is_free and parent is not None and parent.name == "func.func"


def _first_value(offends: Callable[[Attribute], bool]) -> Callable[[ModuleOp], Operation | None]:
    """The first op of a tile program with a result of such a type."""

    def offender(module: ModuleOp) -> Operation | None:
        inside = (op for program in module.ops if program.name == "tile.program" for op in program.walk())
        return next((op for op in inside if any(offends(value.type) for value in op.results)), None)

    return offender


def _has_layout(type: Attribute) -> bool:
    """Whether a tile or a shared buffer has a layout; True of what is neither."""
    layout = type.encoding if isinstance(type, TensorType) else getattr(type, "layout", None)
    return not isinstance(layout, NoneAttr)


def _is_laid_out(type: Attribute) -> bool:
    """Whether it is a tile that has a fragment. Buffers may have layouts that a user gave them."""
    return isinstance(type, TensorType) and _has_layout(type)


FUSED = Invariant("fused", "work on arrays that kernels can do is in kernels", "fuse-kernels", _first(_outside))

TILED = Invariant(
    "tiled",
    "kernels are tile programs, or interpreted",
    "tile-kernels",
    _first(lambda op: op.name == "kernel.fused" and INTERPRETED not in op.attributes),
)

LAYOUT_FREE = Invariant(
    "layout-free",
    "no tile has a fragment yet",
    "tile-kernels",
    _first_value(_is_laid_out),
    "take the IR before assign-layouts",
)

LAID_OUT = Invariant(
    "laid-out",
    "every tile and every shared buffer has a layout",
    "assign-layouts",
    _first_value(lambda type: not _has_layout(type)),
)

SHARED_PLANNED = Invariant(
    "shared-planned",
    "every channel and every buffer has its place in shared memory",
    "plan-shared",
    _first(lambda op: op.name in SHARED and "offset" not in op.properties),
)

SCHEDULED = Invariant(
    "scheduled",
    "loops over tiles are block numbers",
    "lower-schedule",
    _first(lambda op: op.name == "tile.for_tiles"),
)

THREADS = Invariant(
    "threads",
    "kernels are the code of a thread",
    "lower-to-cuda",
    _first(lambda op: op.name in ("kernel.fused", "tile.program")),
)

DOTS_LOWERED = Invariant(
    "dots-lowered",
    "products are instructions of tensor cores",
    "lower-dots",
    _first(lambda op: op.name in ("cuda.dot", "cuda.matrix")),
)

CHANNELS_LOWERED = Invariant(
    "channels-lowered",
    "channels are barriers",
    "lower-channels",
    _first(lambda op: op.name.startswith("cuda.channel")),
)

SCRATCH_ALLOCATED = Invariant(
    "scratch-allocated",
    "exchanges between threads have their place in shared memory",
    "allocate-scratch",
    _first(lambda op: op.name == "cuda.scratch"),
)

ORDERED = Invariant(
    "ordered",
    "barriers stand where shared memory changes hands",
    "insert-barriers",
    _first(lambda op: op.name == "cuda.shared_access"),
)

PLANNED = Invariant(
    "planned",
    "launches are steps of a host plan",
    "build-host-plan",
    _first(lambda op: op.name == "kernel.launch"),
)
