"""Tiles that are loaded where their elements are needed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from irc.looping.accesses import Access
from irc.looping.emitter import Emitter
from irc.looping.values import Indices, Value


@dataclass(eq=False)
class LoadedTile(Value):
    """A tile of memory that the kernel does not write; elements outside of the view are `other`, 0 where absent."""

    access: Access
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


def loaded(access: Access, other: SSAValue | None) -> LoadedTile:
    """The tile of an access."""
    return LoadedTile(access.shape, access.op.view_type.element_type, access.fast, access, other)
