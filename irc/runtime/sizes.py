"""The plan of a call: what a plan with run-time extents is for sizes that a caller has.

The numbers of the plan stand for products with the extents (`irc.support.extents`). Grids, tensor maps and ranges of
arrays follow from the sizes, and so does the arena: buffers that lie apart in the plan lie apart in the call, in the
same order, and counters that one step zeros lie in its range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

from irc.runtime.artifact import ArraySpec
from irc.runtime.plan import Buffer, Collective, Copy, Launch, Memset, Parameter, Plan, Scalar, Step, TensorMap
from irc.support.diagnostics import IrcError
from irc.support.extents import Dim, Sizes, sized, sized_all, varying
from irc.support.integers import ceil_div, round_up

ALIGNMENT = 256
"""Of buffers in the arena, in bytes."""


def sizes_of(dims: Sequence[Dim], specs: Sequence[ArraySpec], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """The size of each dim in a call with arrays of these shapes. IrcError where they do not agree on one, or it is
    none of the dim's; what else is wrong with shapes is for others to find."""
    found: dict[str, int] = {}
    for spec, shape in zip(specs, shapes, strict=True):
        if len(shape) != len(spec.shape):
            continue
        for axis, (extent, number) in enumerate(zip(shape, spec.shape, strict=True)):
            if len(factors := varying(number, dims)) != 1:
                continue
            dim, where = factors[0], f"axis {axis} of argument {spec.name}"
            size = _size(dim, extent, number, where)
            dim.check(size, where)
            if found.setdefault(dim.name, size) != size:
                message = f"{where}: {dim.name} is {size}, and {found[dim.name]} in arguments before it"
                raise IrcError(message, hint=f"extents that the program calls {dim.name} are equal in a call")
    return found


def _size(dim: Dim, extent: int, number: int, where: str) -> int:
    """The dim's size where a number that stands for a multiple of it is this extent."""
    units, rest = divmod(extent, number // dim.prime)
    if rest:
        dim.check(extent, where)
        raise IrcError(f"{where}: expected a multiple of {number // dim.prime}, found {extent}")
    return units * dim.multiple


def at_sizes(specs: Sequence[ArraySpec], dims: Sequence[Dim], sizes: Sizes) -> tuple[ArraySpec, ...]:
    """Arguments or results as they are with these sizes."""
    return tuple(replace(spec, shape=sized_all(spec.shape, dims, sizes), extents=()) for spec in specs)


def peak_of(plan: Plan, arrays: Sequence[ArraySpec]) -> int:
    """The device memory of a call, of which `arrays` are the arguments and the results."""
    shared = sum(arrays[argument].nbytes for _, argument in plan.donated)
    return plan.arena + sum(map(len, plan.constants)) + sum(spec.nbytes for spec in arrays) - shared


WORK = ("flops", "bytes_read", "bytes_written")
"""What the manifest says of a kernel that grows with extents."""


def manifest_at(
    manifest: dict[str, Any], plan: Plan, arrays: Sequence[ArraySpec], dims: Sequence[Dim], sizes: Sizes
) -> dict[str, Any]:
    """The manifest of a program as it is with these sizes, of which `plan` is the plan and `arrays` are the arguments
    and the results."""
    grids = {step.kernel: step.grid for step in plan.steps if isinstance(step, Launch)}
    kernels = [
        {
            **{name: value for name, value in entry.items() if name != "fixed"},
            **{name: _work_at(entry[name], entry.get("fixed", entry)[name], dims, sizes) for name in WORK},
            "grid": list(grids[entry["name"]]) if entry["name"] in grids else entry["grid"],
        }
        for entry in manifest["kernels"]
    ]
    return {**manifest, "arena": plan.arena, "peak": peak_of(plan, arrays), "kernels": kernels}


def _work_at(work: int, fixed: int, dims: Sequence[Dim], sizes: Sizes) -> int:
    """Operations or bytes: a part that is fixed, and one that grows with the extents."""
    return fixed + (work - fixed) * prod(sizes[dim.name] for dim in dims) // prod(dim.stand_in for dim in dims)


class SizedPlan:
    """A plan with run-time extents: `at` gives that of a call. Which buffers lie before which is found once."""

    def __init__(self, plan: Plan):
        self.plan = plan
        ranges = sorted({(b.offset, b.size) for b in _buffers(plan) if b.space == "arena"})
        self._before = {each: _right_before(each, ranges) for each in ranges}
        self._within = _within_zeroed(plan, ranges)

    def at(self, sizes: Sizes) -> Plan:
        """The plan of a call with these sizes."""
        placed = self._placed(sizes)
        ends = (start + self._size(each, sizes) for each, start in placed.items())
        steps = tuple(map(_Call(self.plan, sizes, placed).step, self.plan.steps))
        return replace(self.plan, steps=steps, arena=max(ends, default=0), dims=())

    def _placed(self, sizes: Sizes) -> dict[Range, int]:
        """Where the plan's ranges of the arena begin in the call: behind all that lies before them, and where they did
        in what is zeroed as one. The plan's own offsets would do, as no size is larger than the number that stands for
        it: these are the least that do."""
        lengths = {each: self._size(each, sizes) for each in self._before}
        placed, moved = dict.fromkeys(self._before, 0), True
        while moved:
            known = dict(placed)
            for each, before in self._before.items():
                placed[each] = max([known[each], *(placed[other] + lengths[other] for other in before)])
            for (whole, each), offset in self._within.items():
                placed[each] = max(placed[each], placed[whole] + offset)
                placed[whole] = placed[each] - offset
            moved = placed != known
        return placed

    def _size(self, each: Range, sizes: Sizes) -> int:
        """Bytes of the arena that a range takes in the call."""
        return round_up(sized(each[1], self.plan.dims, sizes), ALIGNMENT)


Range: TypeAlias = tuple[int, int]
"""An offset in the arena, and a size."""


def _within_zeroed(plan: Plan, ranges: Sequence[Range]) -> dict[tuple[Range, Range], int]:
    """The pairs of a range that a step zeros and one inside of it, with where that begins in it: counters that several
    kernels have, mostly. Their sizes are fixed."""
    zeroed = {(b.offset, b.size) for step in plan.steps if isinstance(step, Memset) for b in [step.buffer]}
    return {
        ((start, size), each): each[0] - start
        for start, size in zeroed.intersection(ranges)
        if not varying(size, plan.dims)
        for each in ranges
        if each != (start, size) and start <= each[0] and sum(each) <= start + size
    }


def _right_before(each: Range, ranges: Sequence[Range]) -> list[Range]:
    """The ranges that end where one begins or before, but for those that end before another of these begins: it lies
    behind them anyway."""
    before = [(start, size) for start, size in ranges if size and start + size <= each[0]]
    last = max((start for start, _ in before), default=0)
    return [(start, size) for start, size in before if start + size > last]


@dataclass(frozen=True)
class _Call:
    """Steps of a plan with some sizes. offsets: in the arena, of the plan's ranges."""

    plan: Plan
    sizes: Sizes
    offsets: Mapping[Range, int]
    _known: dict[int, int] = field(default_factory=dict[int, int])

    def _of(self, number: int) -> int:
        if number not in self._known:
            self._known[number] = sized(number, self.plan.dims, self.sizes)
        return self._known[number]

    def step(self, step: Step) -> Step:
        match step:
            case Launch():
                parameters = tuple(map(self._parameter, step.parameters))
                return replace(step, grid=self._grid(step), parameters=parameters, domains=())
            case Copy():
                return replace(step, source=self._buffer(step.source), destination=self._buffer(step.destination))
            case Collective():
                sources, destinations = (tuple(map(self._buffer, of)) for of in (step.sources, step.destinations))
                return replace(step, sources=sources, destinations=destinations)
            case Memset():
                return replace(step, buffer=self._buffer(step.buffer))
            case _:
                return step

    def _grid(self, launch: Launch) -> tuple[int, int, int]:
        if not launch.domains:
            return launch.grid
        return (max(1, sum(map(self._blocks, launch.domains))), *launch.grid[1:])

    def _blocks(self, domain: Sequence[int]) -> int:
        """The blocks for the tiles of a domain."""
        cluster, most, *rest = domain
        tiles = prod(ceil_div(self._of(extent), step) for extent, step in zip(rest[::2], rest[1::2], strict=True))
        clusters = tiles // cluster
        return cluster * (min(clusters, most) if most else clusters)

    def _parameter(self, parameter: Parameter) -> Parameter:
        match parameter:
            case Buffer():
                return self._buffer(parameter)
            case TensorMap():
                extents, strides = map(self._all, (parameter.extents, parameter.strides))
                return replace(parameter, buffer=self._buffer(parameter.buffer), extents=extents, strides=strides)
            case Scalar(element, value, dim):
                return parameter if dim is None else Scalar(element, self._of(int(value)))

    def _all(self, numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(map(self._of, numbers))

    def _buffer(self, buffer: Buffer) -> Buffer:
        is_placed = buffer.space == "arena"
        offset = self.offsets[buffer.offset, buffer.size] if is_placed else self._of(buffer.offset)
        return Buffer(buffer.space, buffer.index, offset, self._of(buffer.size))


def _buffers(plan: Plan) -> list[Buffer]:
    """All buffers of the plan's steps."""
    found: list[Any] = []
    for step in plan.steps:
        match step:
            case Launch():
                found += [p.buffer if isinstance(p, TensorMap) else p for p in step.parameters]
            case Copy():
                found += [step.source, step.destination]
            case Collective():
                found += [*step.sources, *step.destinations]
            case Memset():
                found.append(step.buffer)
            case _:
                pass
    return [each for each in found if isinstance(each, Buffer)]
