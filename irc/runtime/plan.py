"""The host plan as plain data: what `host.plan` says, in a form that is stored and executed without xDSL.

A plan is a list of steps in the order in which they are enqueued. Memory is named by `Buffer`s: a range of bytes of an
argument, of a result, of the arena or of a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from irc.support.extents import Dim
from irc.support.plain import Plain

Space: TypeAlias = Literal["argument", "result", "arena", "constant"]


@dataclass(frozen=True)
class Buffer:
    """`size` bytes from byte `offset` of the `index`-th argument, result or constant, or of the arena (index 0)."""

    space: Space
    index: int
    offset: int
    size: int


@dataclass(frozen=True)
class TensorMap:
    """A CUtensorMap over a buffer. Lists are outermost first; strides are in elements, the innermost is 1; `swizzle` is
    in bytes: 0, 32, 64 or 128. `lower`, `upper` and `steps` are of a window: the map is of the im2col mode then, and
    its box of pixels and channels."""

    buffer: Buffer
    element: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scalar:
    """A number passed by value: `element` is an element name of irc. With `dim` it is the size of that in a call, in
    multiples of what the dim is a multiple of."""

    element: str
    value: int | float
    dim: str | None = None


Parameter: TypeAlias = Buffer | TensorMap | Scalar
"""What a kernel's parameter gets: the address of a buffer, a tensor map of 128 bytes, or a number."""


CALLERS_STREAM = 0
"""The number of the stream that a plan is called on."""


@dataclass(frozen=True)
class Launch:
    """`grid` and `cluster` are blocks along x, y, z, `block` threads along x, `shared` bytes of dynamic shared
    memory. One that `overlaps` may start before the launch before it on its stream is done: it waits for that itself
    (`cuda.dependency_wait`). `parameters` are those of `sets` sets of operands, one behind the other, each for a grid
    along z of its own; the kernel takes them as an array of `max_sets` structs, unless that is 1. `domains`: whose
    tiles the grid has along x where run-time extents are among theirs, as `cuda.kernel` has them."""

    kernel: str
    grid: tuple[int, int, int]
    block: int
    cluster: tuple[int, int, int]
    shared: int
    parameters: tuple[Parameter, ...]
    stream: int
    overlaps: bool = False
    sets: int = 1
    max_sets: int = 1
    domains: tuple[tuple[int, ...], ...] = ()

    @property
    def parameters_of_sets(self) -> list[tuple[Parameter, ...]]:
        """The parameters of each set."""
        size = len(self.parameters) // self.sets
        return [self.parameters[number * size : (number + 1) * size] for number in range(self.sets)]


@dataclass(frozen=True)
class Copy:
    source: Buffer
    destination: Buffer
    stream: int


@dataclass(frozen=True)
class Memset:
    buffer: Buffer
    value: int
    stream: int


@dataclass(frozen=True)
class Collective:
    """What the ranks of a group along the axes `over` of a mesh do together: `all_reduce`, `all_gather` or
    `reduce_scatter`, of elements of that name, joined by `monoid`."""

    does: str
    over: tuple[str, ...]
    element: str
    monoid: str
    sources: tuple[Buffer, ...]
    destinations: tuple[Buffer, ...]
    stream: int


@dataclass(frozen=True)
class Record:
    event: int
    stream: int


@dataclass(frozen=True)
class Wait:
    event: int
    stream: int


Step: TypeAlias = Launch | Collective | Copy | Memset | Record | Wait


@dataclass(frozen=True)
class Plan:
    """name: of the function. arena: bytes of scratch memory. streams: how many; stream 0 is the caller's. events: how
    many. constants: the bytes of each constant. donated: pairs of a result and the argument that it is written over, by
    number. dims: the run-time extents of which sizes in it follow; `irc.runtime.sizes` has the plan of a call."""

    name: str
    arena: int
    streams: int
    events: int
    constants: tuple[bytes, ...]
    steps: tuple[Step, ...]
    donated: tuple[tuple[int, int], ...] = ()
    dims: tuple[Dim, ...] = ()

    def to_json(self) -> Any:
        """As dictionaries, lists, strings and numbers; an object's class is under `is`."""
        return _PLAIN.to_json(self)

    @staticmethod
    def from_json(data: Any) -> Plan:
        """What `to_json` made. KeyError or TypeError where it is something else."""
        return _PLAIN.from_json(data)


_PLAIN = Plain((Buffer, TensorMap, Scalar, Launch, Collective, Copy, Memset, Record, Wait, Dim, Plan))
