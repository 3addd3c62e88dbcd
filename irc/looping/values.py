"""Tiles as they are in a loop nest: memory of a thread's own, or what is computed where it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, SSAValue

from irc.looping.emitter import Emitter
from irc.looping.forms import Form, constant
from irc.support.shapes import row_major

Indices = Sequence[Form]
"""Where an element of a tile is; 0 along axes of extent 1."""


@dataclass(eq=False)
class Value:
    """A tile. `fast` is the axis along which what it is computed from is contiguous, where there is one."""

    shape: tuple[int, ...]
    element: Attribute
    fast: int | None

    def at(self, emitter: Emitter, indices: Indices) -> SSAValue:
        """The element at these indices, those of axes of extent 1 aside."""
        own = tuple(index if n > 1 else constant(0) for index, n in zip(indices, self.shape, strict=True))
        return emitter.known((self, own), lambda: self.computed(emitter, own))

    def computed(self, emitter: Emitter, indices: Indices) -> SSAValue:
        raise NotImplementedError

    @property
    def order(self) -> list[int]:
        """The axes with several elements, outermost first; the contiguous one is the innermost."""
        axes = [axis for axis, n in enumerate(self.shape) if n > 1]
        if self.fast in axes:
            axes.remove(self.fast)
            axes.append(self.fast)
        return axes


@dataclass(eq=False)
class Lazy(Value):
    """A tile of which each element is computed where it is needed."""

    make: Callable[[Emitter, Indices], SSAValue]

    def computed(self, emitter: Emitter, indices: Indices) -> SSAValue:
        return self.make(emitter, indices)


@dataclass(eq=False)
class Buffer(Value):
    """A tile in memory: element (i, j) is at `offset` + i * strides[0] + j * strides[1]."""

    memory: SSAValue
    strides: tuple[int, ...]
    version: int = 0
    """Grows when it is written again: what was loaded before is not what it has now."""

    def address(self, indices: Indices) -> Form:
        total = constant(0)
        for index, stride, n in zip(indices, self.strides, self.shape, strict=True):
            if n > 1:
                total = total + index * stride
        return total

    def at(self, emitter: Emitter, indices: Indices) -> SSAValue:
        place = self.address(indices)
        return emitter.known((self, self.version, place), lambda: emitter.loaded(self.memory, place))

    def store(self, emitter: Emitter, indices: Indices, value: SSAValue) -> None:
        emitter.stored(value, self.memory, self.address(indices))

    @staticmethod
    def new(emitter: Emitter, shape: tuple[int, ...], element: Attribute, fast: int | None) -> Buffer:
        """Memory for a tile, in which the axis `fast` is contiguous."""
        memory = emitter.allocated(max(1, prod(shape)), element)
        order = Value(shape, element, fast).order
        strides = [1] * len(shape)
        for axis, stride in zip(order, row_major([shape[axis] for axis in order]), strict=True):
            strides[axis] = stride
        return Buffer(shape, element, order[-1] if order else None, memory, tuple(strides))


def whole(value: Value, order: Sequence[int] | None = None) -> list[tuple[int, Form, Form]]:
    """The loops over all elements of a tile."""
    axes = value.order if order is None else order
    return [(axis, constant(0), constant(value.shape[axis])) for axis in axes]


def fill(emitter: Emitter, buffer: Buffer, value: Value) -> None:
    """Writes all elements of a value of the same shape."""
    with emitter.loops(whole(buffer), len(buffer.shape)) as indices:
        buffer.store(emitter, indices, value.at(emitter, indices))
    buffer.version += 1


def materialized(emitter: Emitter, value: Value) -> Buffer:
    """The tile in memory."""
    if isinstance(value, Buffer):
        return value
    buffer = Buffer.new(emitter, value.shape, value.element, value.fast)
    fill(emitter, buffer, value)
    return buffer
