"""Running a kernel: its grid in batches of blocks, each a frame whose lanes are strands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from irc.dialects import cuda
from irc.interpreters.sim import rules  # noqa: F401  # pyright: ignore[reportUnusedImport]
from irc.interpreters.sim.code import KernelCode
from irc.interpreters.sim.errors import SimulationError
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.grid import Grid
from irc.interpreters.sim.memory import Array, Pointer, Span, TensorMap
from irc.interpreters.sim.registry import waits
from irc.interpreters.sim.scalars import dtype_of
from irc.interpreters.sim.statistics import Counters, EnoughError
from irc.interpreters.sim.strands import WARP, Strand, StuckError, Waiting, run_all
from irc.ir.properties import values_of
from irc.ir.rounding import cast_array
from irc.layout.instructions import WARP_GROUP
from irc.support.diagnostics import IrcError
from irc.support.integers import round_up

LANES = 4096
"""Lanes that a frame has at most, unless a cluster has more: where numpy's cost per lane outweighs that per call."""

APART: tuple[Callable[[Frame], Array] | None, ...] = (
    None,
    lambda frame: frame.thread // WARP_GROUP,
    lambda frame: frame.warp,
)
"""Which lanes run together, one after the other: all of a frame, a warp group of every block, a warp of one block."""


@dataclass(frozen=True)
class Tensor:
    """The memory of a tensor map, with the extents and strides that it has in this launch."""

    span: Span
    extents: tuple[int, ...]
    strides: tuple[int, ...]


Operand: TypeAlias = Span | Tensor | float
"""What an argument of a kernel gets."""


def _span(operand: Operand) -> Span | None:
    """The memory of an operand; None of a number."""
    if isinstance(operand, Tensor):
        return operand.span
    return operand if isinstance(operand, Span) else None


def _resized(type: cuda.TensorMapType, tensor: Tensor) -> cuda.TensorMapType:
    """The type of a tensor map for other extents."""
    window = values_of(type.lower), values_of(type.upper), values_of(type.steps)
    return cuda.TensorMapType.of(
        type.element, tensor.extents, tensor.strides, values_of(type.box), type.swizzle.data, window
    )


class Kernel:
    """A kernel that can be launched."""

    def __init__(self, op: cuda.KernelOp):
        self.op = op
        self.code = KernelCode(op)
        if values_of(op.cluster)[1:] not in ((), (1, 1)):
            raise IrcError("the simulator has clusters along x alone", op.location)
        self._named_waits = any(waits(inner) and not isinstance(inner, cuda.SyncOp) for inner in op.walk())

    def launch(
        self,
        operands: Sequence[Operand],
        counters: Counters | None = None,
        *,
        blocks: int | None = None,
        lazy: bool = False,
    ) -> None:
        """Run the whole grid. operands: for each argument of the kernel its buffer, tensor or number; SimulationError
        at the first mistake. blocks: of the grid along x, where these are not the kernel's. `lazy`: what is
        asynchronous happens as late as it can, else when it is issued."""
        grid, arguments = self._begun(operands, blocks)
        with np.errstate(all="ignore"):
            for first, blocks in self._batches(grid):
                self._run_batch(grid, first, blocks, arguments, counters, lazy=lazy)

    def sample(self, operands: Sequence[Operand], most: int, *, blocks: int | None = None) -> Counters:
        """The counts of the first blocks, which stop when they have entered `most` blocks of ops; else as `launch`."""
        grid, arguments = self._begun(operands, blocks)
        counters = Counters()
        with np.errstate(all="ignore"):
            for first, count in self._batches(grid)[:1]:
                self._run_batch(grid, first, count, arguments, counters, lazy=False, most=most)
        return counters

    def _begun(self, operands: Sequence[Operand], blocks: int | None) -> tuple[Grid, list[Any]]:
        """A launch, and what its arguments are."""
        op = self.op
        written = [_span(value) for value, writes in zip(operands, op.written, strict=True) if writes]
        grid = Grid(op, [span for span in written if span is not None], blocks)
        return grid, [
            self._argument(argument.type, value, grid) for argument, value in zip(op.arguments, operands, strict=True)
        ]

    def _argument(self, type: Any, value: Operand, grid: Grid) -> Any:
        if isinstance(type, cuda.PtrType | cuda.TensorMapType):
            span = _span(value)
            assert span is not None
            pointer = Pointer(span, dtype_of(type.element, self.code.index), grid.is_written(span))
            if isinstance(type, cuda.PtrType):
                return pointer
            return TensorMap(_resized(type, value) if isinstance(value, Tensor) else type, pointer)
        return cast_array(np.array(value), dtype_of(type, self.code.index))[()]

    def _batches(self, grid: Grid) -> list[tuple[int, int]]:
        """(first block, how many) of each frame: whole clusters."""
        threads = round_up(self.op.block.value.data, WARP)
        unit = grid.cluster_blocks
        size = max(LANES // (threads * unit), 1) * unit
        return [(first, min(size, grid.blocks - first)) for first in range(0, grid.blocks, size)]

    def _run_batch(
        self,
        grid: Grid,
        first: int,
        blocks: int,
        arguments: Sequence[Any],
        counters: Counters | None,
        *,
        lazy: bool,
        most: int | None = None,
    ) -> None:
        """One frame. Lanes that run together can be stuck where warp groups, or warps, on their own are not, so that is
        tried before a deadlock is reported."""
        saved = grid.save() if self._named_waits else None
        found: Counters | None = None
        for apart in APART if saved is not None else APART[:1]:
            found = None if counters is None else Counters(most)
            try:
                self._run(grid, first, blocks, arguments, found, lazy=lazy, apart=apart)
                break
            except EnoughError:
                break
            except StuckError as stuck:
                if saved is None or apart is APART[-1]:
                    raise self._deadlock(stuck) from None
                grid.restore(saved)
        if counters is not None and found is not None:
            counters.add(found)

    def _run(
        self,
        grid: Grid,
        first: int,
        blocks: int,
        arguments: Sequence[Any],
        counters: Counters | None,
        *,
        lazy: bool,
        apart: Callable[[Frame], Array] | None,
    ) -> None:
        """Counts what the frame does where `counters` are there. apart: for each lane what it has in common with those
        that it runs together with; None where all do."""
        frame = Frame(self.code, grid, first, blocks, counters, lazy=lazy)
        environment = list(self.code.environment)
        for slot, value in zip(self.code.arguments, arguments, strict=True):
            environment[slot] = value
        whole = None if frame.exists.all() else frame.exists
        masks = [whole]
        if apart is not None:
            numbers = apart(frame)
            masks = [frame.exists & (numbers == number) for number in np.unique(numbers)]
        strands = [Strand(frame, list(environment), mask) for mask in masks]
        run_all([strand.run_waiting(self.code.body) for strand in strands], frame.units.progress)
        frame.units.end()

    def _deadlock(self, stuck: StuckError) -> SimulationError:
        waits: Sequence[Waiting] = stuck.waits
        name = self.op.sym_name.data
        first = waits[0]
        if all(isinstance(wait.op, cuda.SyncOp) for wait in waits):
            threads = first.strand.frame.threads_text(first.strand.numbers)
            text = f"only some threads of a block come to this barrier: {threads}"
            return SimulationError("divergence", text, first.op.location, name)
        lanes: dict[str, list[Array]] = {}
        for wait in waits:
            lanes.setdefault(wait.reason(), []).append(wait.strand.numbers)
        frame = first.strand.frame
        texts = "; ".join(f"{frame.threads_text(np.concatenate(found))}: {why}" for why, found in lanes.items())
        return SimulationError("deadlock", f"no thread can go on: {texts}", first.op.location, name)
