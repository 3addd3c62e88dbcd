"""Where the elements of a tile lie, for one thread: what the thread contributes, and what the number of the value does.

A thread accesses many elements, in unrolled loops. The thread's part of an address is computed once; the rest are
numbers by then, which the machine's instructions add for nothing. So coordinates and offsets are kept as sums: a base
and a step for each value mode of the fragment, as long as they are linear in the modes. Where a swizzle makes them
XORs, the bits of both parts are apart (`Fragment.is_linear`), so that it swizzles each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.layout.affine import least
from irc.layout.shared import SharedLayout, Swizzle
from irc.lowering.emitter import Emitter, Index, is_power_of_two


@dataclass(frozen=True)
class Coordinate:
    """`base` + the sum of `steps[m]` x component m of a value; no steps where there are none."""

    base: Index
    steps: tuple[int, ...] = ()

    def moved(self, e: Emitter, components: Sequence[Index]) -> Index:
        """What the value contributes."""
        total: Index = 0
        for component, step in zip(components, self.steps, strict=False):
            total = e.add(total, e.mul(component, step))
        return total

    def at(self, e: Emitter, components: Sequence[Index]) -> Index:
        return e.add(self.base, self.moved(e, components))


def sum_of(e: Emitter, a: Coordinate, b: Coordinate) -> Coordinate:
    long, short = (a, b) if len(a.steps) >= len(b.steps) else (b, a)
    steps = tuple(x + y for x, y in zip(long.steps, (*short.steps, *[0] * len(long.steps)), strict=False))
    return Coordinate(e.add(a.base, b.base), steps)


def scaled(e: Emitter, place: Coordinate, by: int) -> Coordinate:
    return Coordinate(e.mul(place.base, by), tuple(step * by for step in place.steps))


MAX_BELOW = 1 << 20
"""How far below zero a dividend may be to be moved above it: the bounds of expressions, where they are known, are
those of tiles."""


def _known(number: int) -> Index:
    return number


@dataclass
class Walk:
    """Places of the elements with these components."""

    e: Emitter
    components: Sequence[Index]
    extent: Callable[[int], Index] = field(default=_known)
    """What a number is in a call that may stand for an extent."""

    def affine(self, expr: AffineExpr, dims: Sequence[Coordinate], symbols: Sequence[Index]) -> Coordinate:
        """The value of an affine expression of coordinates and symbols, which are at least 0."""
        match expr:
            case AffineConstantExpr():
                return Coordinate(self.extent(expr.value))
            case AffineDimExpr():
                return dims[expr.position]
            case AffineSymExpr():
                return Coordinate(symbols[expr.position])
            case AffineBinaryOpExpr():
                a, b = self.affine(expr.lhs, dims, symbols), self.affine(expr.rhs, dims, symbols)
                lowest = least(expr.lhs)
                return self.binary(expr.kind, a, b, lowest)
            case _:
                raise ValueError(f"no code for {expr}")

    def binary(self, kind: AffineBinaryOpKind, a: Coordinate, b: Coordinate, lowest: int = 0) -> Coordinate:
        """lowest: a lower bound of `a`."""
        e = self.e
        if kind is AffineBinaryOpKind.Add:
            return sum_of(e, a, b)
        by = b.at(e, self.components)
        if kind is AffineBinaryOpKind.Mul:
            return self.scaled(a, by)
        if kind not in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod):
            raise ValueError(f"no code for {kind}")
        if not isinstance(by, int):
            return self._divided(kind, a, by, signed=lowest < 0)
        if lowest < -MAX_BELOW:
            return self._divided(kind, a, by, signed=True)
        # What is not below zero is divided by a multiplication.
        before = 0 if lowest >= 0 or is_power_of_two(by) else -(lowest // by)
        a = Coordinate(e.add(a.base, before * by), a.steps)
        divides = all(step % by == 0 for step in a.steps)
        if kind is AffineBinaryOpKind.Mod:
            return Coordinate(
                e.rem(a.base if divides else a.at(e, self.components), by, signed=lowest < 0 and not before)
            )
        signed = lowest < 0 and not before
        if divides:
            quotient = e.div(a.base, by, signed=signed)
            return Coordinate(e.sub(quotient, before), tuple(step // by for step in a.steps))
        return Coordinate(e.sub(e.div(a.at(e, self.components), by, signed=signed), before))

    def _divided(self, kind: AffineBinaryOpKind, a: Coordinate, by: Index, *, signed: bool) -> Coordinate:
        operation = self.e.div if kind is AffineBinaryOpKind.FloorDiv else self.e.rem
        return Coordinate(operation(a.at(self.e, self.components), by, signed=signed))

    def scaled(self, place: Coordinate, by: Index) -> Coordinate:
        """A coordinate times a number, or a value: then it is a sum no more."""
        if isinstance(by, int):
            return scaled(self.e, place, by)
        return Coordinate(self.e.mul(place.at(self.e, self.components), by))

    def offset(self, layout: SharedLayout, at: Sequence[Coordinate]) -> Coordinate:
        """The element offset in a layout of shared memory, before the swizzle."""
        offset = Coordinate(0)
        for position, modes in zip(at, layout.modes, strict=True):
            for size, stride in modes[:-1]:
                part = self.binary(AffineBinaryOpKind.Mod, position, Coordinate(size))
                offset = sum_of(self.e, offset, scaled(self.e, part, stride))
                position = self.binary(AffineBinaryOpKind.FloorDiv, position, Coordinate(size))
            offset = sum_of(self.e, offset, scaled(self.e, position, modes[-1][1]))
        return offset

    def swizzled(self, layout: SharedLayout, at: Sequence[Coordinate], *, apart: bool) -> Index:
        """The element offset in a layout of shared memory. apart: no bit of an offset comes from both the thread and
        the value."""
        e, swizzle, offset = self.e, layout.swizzle, self.offset(layout, at)
        if swizzle.is_identity:
            return offset.at(e, self.components)
        if not apart or not is_linear(layout):
            return swizzled(e, swizzle, offset.at(e, self.components))
        value = swizzled(e, swizzle, offset.moved(e, self.components))
        mixed = bits(e, value, swizzle.base, swizzle.base + swizzle.bits)
        return e.add(e.xor(swizzled(e, swizzle, offset.base), mixed), e.sub(value, mixed))


def is_linear(layout: SharedLayout) -> bool:
    """Whether every bit of a coordinate moves the offset by a bit, before the swizzle."""
    return all(n & (n - 1) == 0 for modes in layout.modes for mode in modes for n in mode)


def swizzled(e: Emitter, swizzle: Swizzle, offset: Index) -> Index:
    """The swizzle of an offset. The bits are brought down before they are masked: NVRTC 13.0 takes an XOR with masked
    bits that are shifted down after it for 0, in some kernels."""
    high = e.rem(e.div(offset, 1 << (swizzle.base + swizzle.shift)), 1 << swizzle.bits)
    return e.xor(offset, e.mul(high, 1 << swizzle.base))


def bits(e: Emitter, x: Index, low: int, high: int) -> Index:
    """The bits [low, high) of a number, where they are."""
    return e.mul(e.rem(e.div(x, 1 << low), 1 << (high - low)), 1 << low)
