"""What a host plan has to keep: known streams and events, no race between streams, no read of an overwritten buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from irc.dialects.host.memory import ArenaOp, BufferOp, BufferType, ConstantOp
from irc.dialects.host.steps import EventOp, Kernels, LaunchOp, RecordOp, StepOp, WaitOp, accesses_of_set
from irc.ir.launching import LaunchableInterface

Accesses = Sequence[tuple[SSAValue, bool]]


@dataclass(frozen=True)
class Extent:
    """The bytes [start, end) of a root: the arena, a constant or an argument of the plan. rows: a pitch and a width,
    where it is only the first `width` of each `pitch` bytes."""

    root: SSAValue
    start: int
    end: int
    rows: tuple[int, int] | None = None

    def overlaps(self, other: Extent) -> bool:
        if self.root is not other.root or self.start >= other.end or other.start >= self.end:
            return False
        if self.rows is None or other.rows is None or self.rows[0] != other.rows[0]:
            return True
        pitch, width = self.rows
        behind = (other.start - self.start) % pitch
        return behind < width or pitch - behind < other.rows[1]


def extent_of(buffer: SSAValue) -> Extent:
    """Where a buffer of a plan lies."""
    assert isinstance(buffer.type, BufferType)
    start, size = 0, buffer.type.size.data
    rows = buffer.owner.rows if isinstance(buffer.owner, BufferOp) else None
    while isinstance(buffer.owner, BufferOp):
        start += buffer.owner.offset.value.data
        buffer = buffer.owner.base
    return Extent(buffer, start, start + size, rows)


def check_steps(block: Block, streams: int, kernels: Kernels | None) -> None:
    """VerifyException at the first step of a plan's block that breaks a rule. `kernels`: what the plan can launch, None
    where nobody knows."""
    arenas = [op for op in block.ops if isinstance(op, ArenaOp)]
    if len(arenas) > 1:
        raise VerifyException(f"expected at most one arena in a plan, found {len(arenas)}")
    steps = [op for op in block.ops if isinstance(op, StepOp)]
    for step in steps:
        if kernels is not None and isinstance(step, LaunchOp):
            _check_launch(step, kernels.get(step.kernel_name))
    before = _order(steps, streams)
    accesses = [step.accesses(kernels or {}) for step in steps]
    _check_contents(steps, accesses)
    if streams > 1:
        _check_races(steps, accesses, before)


def kernels_beside(plan: Operation) -> Kernels | None:
    """What a plan can launch, by name; None for a plan that is in no module."""
    block = plan.parent_block()
    if block is None:
        return None
    return {op.symbol: op for op in block.ops if isinstance(op, LaunchableInterface)}


def _check_launch(launch: LaunchOp, kernel: LaunchableInterface | None) -> None:
    """A launch names a kernel, and passes what its arguments describe, for no more sets than the kernel has."""
    if kernel is None:
        raise VerifyException(f"expected {launch.kernel} to be a kernel of the module, found none")
    if launch.sets.value.data > kernel.max_sets:
        raise VerifyException(
            f"expected at most {kernel.max_sets} sets of operands for {launch.kernel}, found {launch.sets.value.data}"
        )
    for operands in launch.operand_sets:
        _check_operands(launch, operands, kernel)
        _check_apart(launch, operands, kernel)
    if launch.sets.value.data > 1:
        _check_sets(launch, kernel)


def _check_operands(launch: LaunchOp, operands: Sequence[SSAValue], kernel: LaunchableInterface) -> None:
    """The operands of one set are what the kernel's arguments describe."""
    for argument, operand in zip(kernel.arguments, kernel.operand_of_argument, strict=True):
        if operand >= len(operands):
            raise VerifyException(f"expected an operand {operand} for {launch.kernel}, found {len(operands)}")
        passed = operands[operand].type
        memory = kernel.takes_memory(argument)
        if memory != isinstance(passed, BufferType) or (not memory and passed != argument.type):
            raise VerifyException(f"expected operand {operand} of {launch.kernel} for {argument.type}, found {passed}")


def _check_apart(launch: LaunchOp, operands: Sequence[SSAValue], kernel: LaunchableInterface) -> None:
    """Operands of which the kernel writes one share bytes only where it knows that they may: elsewhere its code says
    that they do not."""
    accesses = [
        (number, extent_of(operands[number]), writes)
        for number, writes in sorted(set(zip(kernel.operand_of_argument, kernel.written, strict=True)))
        if isinstance(operands[number].type, BufferType)
    ]
    for written, extent in [(number, extent) for number, extent, writes in accesses if writes]:
        for other, touched, _ in accesses:
            if other != written and touched.overlaps(extent) and not {written, other} <= kernel.overlapping:
                raise VerifyException(
                    f"expected operands {other} and {written} of {launch.kernel} apart, found {_range(extent)} in both"
                )


def _check_sets(launch: LaunchOp, kernel: LaunchableInterface) -> None:
    """What one set of operands writes, no other one touches: nothing orders them."""
    sets = [accesses_of_set(operands, kernel) for operands in launch.operand_sets]
    touched: dict[SSAValue, list[tuple[int, Extent]]] = {}
    for number, each in enumerate(sets):
        for buffer, _ in each:
            extent = extent_of(buffer)
            touched.setdefault(extent.root, []).append((number, extent))
    for writer, each in enumerate(sets):
        for extent in [extent_of(buffer) for buffer, writes in each if writes]:
            other = next((n for n, found in touched[extent.root] if n != writer and found.overlaps(extent)), None)
            if other is not None:
                raise VerifyException(
                    f"expected the sets of operands of {launch.kernel} apart, found {_range(extent)}, "
                    f"which set {writer} writes, in set {other}"
                )


def _order(steps: list[StepOp], count: int) -> list[int]:
    """For each step on one of `count` streams the set (as bits) of those that are complete before it starts."""
    streams = [0] * count
    events: dict[int, int] = {}
    before: list[int] = []
    for index, step in enumerate(steps):
        stream = step.stream.value.data
        if not 0 <= stream < len(streams):
            raise VerifyException(f"expected a stream below {len(streams)}, found {stream} in {step.name}")
        if isinstance(step, WaitOp):
            event = step.event.value.data
            if event not in events:
                raise VerifyException(f"expected event {event} to be recorded before it is waited for")
            streams[stream] |= events[event]
        before.append(streams[stream])
        streams[stream] |= 1 << index
        if isinstance(step, RecordOp):
            events[step.event.value.data] = streams[stream]
    unordered = streams[0] ^ ((1 << len(steps)) - 1)
    for index, step in enumerate(steps):
        if unordered >> index & 1 and not isinstance(step, EventOp):
            raise VerifyException(
                f"expected stream 0 to wait for all work, found step {index} ({step.name}) outside of its order"
            )
    return before


def _check_races(steps: list[StepOp], accesses: list[Accesses], before: list[int]) -> None:
    """Steps that touch the same bytes, one of them writing, are ordered."""
    touched: dict[SSAValue, dict[Extent, list[int]]] = {}
    for index, step in enumerate(steps):
        unordered = ~(before[index] | 1 << index)
        for buffer, writes in accesses[index]:
            extent = extent_of(buffer)
            earlier = touched.setdefault(extent.root, {})
            for touching, (readers, writers) in earlier.items():
                racing = (writers | readers if writes else writers) & unordered
                if racing and touching.overlaps(extent):
                    other = (racing & -racing).bit_length() - 1
                    raise VerifyException(
                        f"expected an event between steps {other} ({steps[other].name}) and {index} "
                        f"({step.name}), which share {_range(extent)}, found none"
                    )
            # Bit sets of the steps that read the range, and of those that write it.
            earlier.setdefault(extent, [0, 0])[writes] |= 1 << index


def _check_contents(steps: list[StepOp], accesses: list[Accesses]) -> None:
    """A buffer that is read holds what was written to it, not what a buffer over the same bytes left."""
    live: dict[SSAValue, dict[SSAValue, Extent]] = {}
    for index, step in enumerate(steps):
        for buffer, writes in accesses[index]:
            extent = extent_of(buffer)
            if writes and isinstance(extent.root.owner, ConstantOp):
                raise VerifyException(
                    f"expected constants to be read only, found step {index} ({step.name}) writing one"
                )
            if not writes and isinstance(extent.root.owner, ArenaOp):
                _check_written(buffer, extent, live.get(extent.root, {}), index, step)
        for buffer, writes in accesses[index]:
            if not writes:
                continue
            extent = extent_of(buffer)
            others = live.setdefault(extent.root, {})
            for other in [b for b, e in others.items() if e.overlaps(extent)]:
                if not _related(other, buffer):
                    del others[other]
            others[buffer] = extent


def _check_written(buffer: SSAValue, extent: Extent, live: dict[SSAValue, Extent], index: int, step: StepOp) -> None:
    if extent.start == extent.end or buffer in live:
        return
    if any(each.overlaps(extent) and _related(other, buffer) for other, each in live.items()):
        return
    raise VerifyException(
        f"step {index} ({step.name}): expected the buffer at {_range(extent)} to hold what was written to it, "
        "found it not written or overwritten"
    )


def _related(a: SSAValue, b: SSAValue) -> bool:
    """Whether one buffer is a range of the other, so that their sharing bytes is meant."""
    return b in _bases(a) or a in _bases(b)


def _bases(buffer: SSAValue) -> list[SSAValue]:
    """The buffer and the ones that it is a range of, short of the arena."""
    bases = [buffer]
    while isinstance(buffer.owner, BufferOp) and not isinstance(buffer.owner.base.owner, ArenaOp):
        buffer = buffer.owner.base
        bases.append(buffer)
    return bases


def _range(extent: Extent) -> str:
    return f"bytes {extent.start} to {extent.end}"
