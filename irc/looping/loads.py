"""Tiles that are loaded: where their elements are needed, or transposed into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from irc.dialects.cpu import TransposeOp
from irc.looping.accesses import ViewAccess
from irc.looping.emitter import Emitter
from irc.looping.forms import ZERO
from irc.looping.values import Buffer, Indices, Value

SHORT = 4
"""Elements of rows or columns from which on a tile is transposed by blocks."""


@dataclass(eq=False)
class LoadedTile(Value):
    """A tile of memory that the kernel does not write; elements outside of the view are `other`, 0 where absent."""

    access: ViewAccess
    other: SSAValue | None

    def computed(self, emitter: Emitter, indices: Indices) -> SSAValue:
        access, element = self.access, self.element
        coordinates = access.coordinates(emitter, indices)
        tests = access.tests(emitter, coordinates)
        if not tests:
            return emitter.loaded(access.memory, access.place(coordinates))
        return emitter.chosen(
            emitter.all_of(tests),
            element,
            lambda: emitter.loaded(access.memory, access.place(coordinates)),
            lambda: emitter.zero(element) if self.other is None else self.other,
        )


def loaded(access: ViewAccess, other: SSAValue | None) -> LoadedTile:
    """The tile of an access."""
    return LoadedTile(access.shape, access.op.view_type.element_type, access.fast, access, other)


def transposed(emitter: Emitter, access: ViewAccess, stores: Sequence[ViewAccess]) -> Buffer | None:
    """The tile in memory in the order in which it is stored, where that is another one than in which it lies in memory;
    None where it is not, or where what is outside of the view may be stored."""
    source, targets = access.fast, {store.fast for store in stores}
    if source is None or len(targets) != 1 or (target := targets.pop()) in (None, source):
        return None
    shape, steps = access.shape, access.steps()
    pitch = steps[target]
    if pitch is None or pitch <= 0 or min(shape[source], shape[target]) < SHORT:
        return None
    bounds = access.loops(emitter, [axis for axis, n in enumerate(shape) if n > 1])
    if not access.is_clamped or any(store.loops(emitter, [axis for axis, *_ in bounds]) != bounds for store in stores):
        return None
    if any(low != ZERO for _, low, _ in bounds):
        return None
    buffer = Buffer.new(emitter, shape, access.op.view_type.element_type, target)
    high = {axis: end for axis, _, end in bounds}
    with emitter.loops([each for each in bounds if each[0] not in (source, target)], len(shape)) as indices:
        at = access.place(access.coordinates(emitter, indices))
        emitter.add(
            TransposeOp(
                (access.memory, emitter.value(at), pitch),
                (buffer.memory, emitter.value(buffer.address(indices)), buffer.strides[source]),
                (emitter.value(high[source]), emitter.value(high[target])),
            )
        )
    buffer.version += 1
    return buffer
