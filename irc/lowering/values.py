"""What a tile is to one thread: some registers, one scalar for all elements, or a coordinate; and how to walk over
them."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, SSAValue

from irc.dialects import cuda
from irc.dialects.tile import BufferType, element_type_of, shape_of
from irc.layout.fragment import Fragment, Mode
from irc.layout.shared import SharedLayout
from irc.lowering.coordinates import Coordinate
from irc.lowering.emitter import INDEX, Emitter, Index
from irc.lowering.extents import Extents
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.lowering.channels import Channel
    from irc.lowering.orders import Order
    from irc.lowering.step_channels import StepChannel


@dataclass(frozen=True)
class Registers:
    """A tile in a register array. Component c of value mode m adds c * strides[m] to the index; `base` is added to
    all."""

    array: SSAValue
    fragment: Fragment
    strides: tuple[int, ...]
    base: Index = 0

    @property
    def element(self) -> Attribute:
        assert isinstance(self.array.type, cuda.RegistersType)
        return self.array.type.element


@dataclass(frozen=True)
class Splat:
    """A tile whose elements are all one scalar."""

    scalar: SSAValue
    fragment: Fragment


@dataclass(frozen=True)
class Iota:
    """A tile whose elements are offset + their coordinate along `axis`, of type index."""

    axis: int
    offset: Index
    fragment: Fragment


@dataclass(frozen=True)
class Sums:
    """Sums of dots in Tensor Memory, from the address `tensor` on, and the address of the barrier that is complete when
    they are, for the phase in a register. Threads load them to their part of a tile of `element`."""

    tensor: SSAValue
    barrier: SSAValue
    phase: SSAValue
    fragment: Fragment
    element: Attribute


Tile = Registers | Splat | Iota


@dataclass(frozen=True)
class Buffer:
    """A shared buffer at a byte address (i32 arithmetic is done on `index` and cast where it is used)."""

    address: Index
    layout: SharedLayout
    element: Attribute
    origin: tuple[Index, ...]
    """The coordinate in the layout of the buffer's first element: a subview starts further on."""
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Bytes:
    """Bytes of shared memory from an address on, an i32 that is an offset which is known once it is allocated."""

    address: SSAValue
    size: int


Lowered = Tile | Sums | Buffer | Index
"""What a tile-level value becomes; channels are apart."""


@dataclass
class ThreadGroup:
    """The threads that run code together: a whole block, or the warps of one partition."""

    thread: Index
    count: int
    barrier: int | None = None
    """The named barrier they meet at; None is the block's own."""


def packed_strides(fragment: Fragment) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for mode in fragment.values:
        strides.append(step)
        step *= mode.size
    return tuple(strides)


@dataclass
class ThreadCode:
    """Code of a thread of a group, and where it goes: registers that hold tiles, and their elements."""

    e: Emitter
    group: ThreadGroup
    _thread_parts: dict[tuple[Block, Fragment], list[Index]] = field(
        default_factory=dict[tuple[Block, Fragment], list[Index]], init=False
    )

    def array(self, fragment: Fragment, element: Attribute, hint: str | None = None) -> Registers:
        """Fresh registers for a tile."""
        op = cuda.RegistersOp(fragment.value_count, element)
        return Registers(self.e.value(op, hint), fragment, packed_strides(fragment))

    # Coordinates

    def thread_part(self, fragment: Fragment) -> list[Index]:
        """What the thread contributes to each coordinate."""
        key = (self.e.block, fragment)
        if key not in self._thread_parts:
            if fragment.thread_count != self.group.count:
                raise IrcError(f"a fragment over {fragment.thread_count} threads in code of {self.group.count} threads")
            at: list[Index] = [0] * len(fragment.shape)
            components = self.e.split(self.group.thread, [m.size for m in fragment.threads]) if fragment.threads else []
            for mode, component in zip(fragment.threads, components, strict=True):
                if not mode.is_replicated:
                    at[mode.dim] = self.e.add(at[mode.dim], self.e.mul(component, mode.step))
            self._thread_parts[key] = at
        return self._thread_parts[key]

    def coordinates(self, fragment: Fragment, components: Sequence[Index]) -> list[Index]:
        """The tile coordinate of the thread's value with these components."""
        return [place.at(self.e, components) for place in self.linear_coordinates(fragment)]

    def linear_coordinates(self, fragment: Fragment) -> list[Coordinate]:
        """The coordinates of the thread's values, for any components."""
        return [
            Coordinate(at, tuple(mode.step if mode.dim == dim else 0 for mode in fragment.values))
            for dim, at in enumerate(self.thread_part(fragment))
        ]

    def first_copy(self, fragment: Fragment) -> SSAValue | None:
        """The condition that this thread holds the first of the copies of its elements; None where there are none."""
        if not any(m.is_replicated for m in fragment.threads):
            return None
        components = self.e.split(self.group.thread, [m.size for m in fragment.threads])
        return self.e.all(
            [
                self.e.compare("eq", c, 0)
                for m, c in zip(fragment.threads, components, strict=True)
                if m.is_replicated and m.size > 1
            ]
        )

    # Elements

    @contextmanager
    def each(self, fragment: Fragment, vector: int = 1) -> Generator[list[Index]]:
        """Unrolled loops over the thread's values, in runs of `vector` of the first mode; gives the components."""
        with self.nest(fragment.values, vector) as components:
            yield components

    @contextmanager
    def nest(self, modes: Sequence[Mode], vector: int = 1) -> Generator[list[Index]]:
        components: list[Index] = [0] * len(modes)
        with ExitStack() as stack:
            for at in reversed(range(len(modes))):
                step = vector if at == 0 else 1
                components[at] = stack.enter_context(self.e.loop(0, modes[at].size, step, unroll=True, hint=f"v{at}"))
            yield components

    def colexicographic(self, fragment: Fragment, components: Sequence[Index]) -> Index:
        """The number of the element at the thread's value with these components: dimension 0 is the fastest."""
        number: Index = 0
        unit = 1
        for at, extent in zip(self.coordinates(fragment, components), fragment.shape, strict=True):
            number = self.e.add(number, self.e.mul(at, unit))
            unit *= extent
        return number

    def register(self, tile: Registers, components: Sequence[Index]) -> Index:
        at = tile.base
        for component, stride in zip(components, tile.strides, strict=True):
            at = self.e.add(at, self.e.mul(component, stride))
        return at

    def element(self, tile: Tile, fragment: Fragment, components: Sequence[Index]) -> SSAValue:
        """The element of `tile` that meets the given element of a tile it is broadcast to."""
        match tile:
            case Splat():
                return tile.scalar
            case Iota():
                own = matching(tile.fragment, fragment, components)
                at = self.coordinates(tile.fragment, own)[tile.axis]
                return self.e.index(self.e.add(tile.offset, at))
            case Registers():
                own = matching(tile.fragment, fragment, components)
                return self.e.value(cuda.GetOp(tile.array, self.e.index(self.register(tile, own))))

    def set(self, tile: Registers, components: Sequence[Index], value: SSAValue) -> None:
        self.e.insert(cuda.SetOp(tile.array, self.e.index(self.register(tile, components)), value))

    def materialize(self, tile: Tile, element: Attribute) -> Registers:
        """The tile in registers of its own."""
        if isinstance(tile, Registers):
            return tile
        result = self.array(tile.fragment, element)
        with self.each(tile.fragment) as components:
            self.set(result, components, self.element(tile, tile.fragment, components))
        return result

    def copy(self, source: Tile, target: Registers) -> None:
        with self.each(target.fragment) as components:
            self.set(target, components, self.element(source, target.fragment, components))

    def as_index(self, value: SSAValue) -> SSAValue:
        if isinstance(value.type, IndexType):
            return value
        return self.e.value(arith.IndexCastOp(value, INDEX))


@dataclass
class Code(ThreadCode):
    """The state of lowering one program: what every tile-level value has become, and where the code goes."""

    kernel: Block
    extents: Extents
    """What run-time extents are in a call."""
    pointers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Program argument (a view) -> kernel argument (a pointer)."""
    tensor_maps: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )
    values: dict[SSAValue, Lowered] = field(default_factory=dict[SSAValue, Lowered])
    channels: dict[SSAValue, Channel] = field(default_factory=dict[SSAValue, "Channel"])
    """Channels as the partition that is being lowered sees them."""
    step_channels: dict[SSAValue, StepChannel] = field(default_factory=dict[SSAValue, "StepChannel"])
    """Channels that all threads fill and read."""
    tensors: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The addresses of accumulators in Tensor Memory."""
    orders: dict[SSAValue, Order] = field(default_factory=dict[SSAValue, "Order"])
    """Orders of the warp groups of the partition that is being lowered."""
    has_stmatrix: bool = False
    """Whether warps can store matrices to shared memory."""
    shared_align: int = 16
    """Bytes to which the start of shared memory is aligned."""
    _exchanges: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    # Values

    def tile(self, value: SSAValue) -> Tile:
        known = self.values[value]
        assert isinstance(known, Registers | Splat | Iota)
        return known

    def buffer(self, value: SSAValue) -> Buffer:
        known = self.values[value]
        assert isinstance(known, Buffer)
        return known

    def scalar(self, value: SSAValue) -> Index:
        """A scalar of the tile level: a known number, or an SSA value."""
        known = self.values[value]
        assert isinstance(known, int | SSAValue)
        return known

    def extent(self, number: int) -> Index:
        """What an extent, a stride or a size of an array is in a call."""
        return self.extents.of(number)

    def ssa(self, value: SSAValue) -> SSAValue:
        return self.e.index(self.scalar(value))

    # Meeting

    def sync(self, reason: str) -> None:
        """All threads of the group meet."""
        if self.group.barrier is None:
            self.e.insert(cuda.SyncOp(reason))
        else:
            self.e.insert(cuda.NamedSyncOp(self.e.i32(self.group.barrier), self.group.count, reason))

    def access(self, kind: str, region: Bytes | None = None, each_warp: int | None = None) -> None:
        """The threads of the group are about to access shared memory, as `cuda.shared_access` has it: some bytes, or
        any."""
        address, size = (None, None) if region is None else (region.address, region.size)
        barrier = self.group.barrier
        threads = None if barrier is None else self.group.count
        op = cuda.SharedAccessOp(kind, address, size, each_warp=each_warp, barrier=barrier, threads=threads)
        self.e.insert(op)

    def scratch(self, size: int, *, rotates: bool = False) -> Bytes:
        """Scratch memory for an exchange, as `cuda.scratch` has it."""
        op = cuda.ScratchOp(size, rotates=rotates, barrier=self.group.barrier)
        return Bytes(self.e.value(op, "scratch"), size)

    def exchange_number(self, *key: Hashable) -> int:
        """A number for exchanges in which each warp accesses a part of its own: equal where the parts are."""
        return self._exchanges.setdefault(key, len(self._exchanges))


def matching(own: Fragment, other: Fragment, components: Sequence[Index]) -> list[Index]:
    """The components in `own` modes of the element that meets an element of `other`, to which `own` is broadcast."""
    if own is other or own.values == other.values:
        return list(components)
    found: list[Index] = []
    for mode in own.values:
        for at, candidate in enumerate(other.values):
            if candidate == mode:
                found.append(components[at])
                break
        else:
            raise IrcError(f"no layout conversion between fragments {own} and {other}")
    return found


def tile_element(type: Attribute) -> Attribute:
    """The element type of a tile in registers: bool stays i1, unsigned integers have become signless before."""
    element = element_type_of(type)
    return IntegerType(element.width.data) if isinstance(element, IntegerType) else element


def element_bytes(type: Attribute) -> int:
    return cuda.size_of(type)


def buffer_of(type: BufferType, address: Index) -> Buffer:
    attr = type.shared_layout
    if attr is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts before lower-to-cuda")
    shape = shape_of(type)
    return Buffer(address, attr.data, type.element_type, (0,) * len(shape), shape)
