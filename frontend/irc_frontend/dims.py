"""Sizes of arrays that change from call to call: one program for all of them, where it is one.

A function is recorded with numbers that stand for such sizes (`irc.support.extents`), and for two sizes themselves. It
is one program for all sizes if what was recorded with the numbers is, with these sizes in their place, what was
recorded for them: else it computed with a size, or chose by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irc.support.extents import dim_of, varying
from irc_frontend.graph import fail

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.support.extents import Dim as KnownDim

__all__ = ["Dim"]


@dataclass(frozen=True)
class Dim:
    """An extent of arrays that changes from call to call, between `least` and `most`, a multiple of `multiple`:

        N = ir.Dim("N", 1, 65536, multiple=8)

        @ir.jit(dims={"x": (N,)})
        def f(x, w): ...

    Its name stands in diagnostics. One program serves all its sizes, with a config for the largest."""

    name: str
    least: int
    most: int
    multiple: int = 1

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise fail(f"a Dim has a name, found {self.name!r}", 'ir.Dim("N", 1, 65536)')
        self.known(())

    def known(self, avoid: Iterable[int]) -> KnownDim:
        """With the number that stands for it among other extents."""
        try:
            return dim_of(self.name, self.least, self.most, self.multiple, avoid)
        except ValueError as error:
            raise fail(f"the Dim {self.name} has no size: {error}") from None


Shape = Sequence["int | Dim"]
"""The shape of an argument."""


class NotOne(Exception):
    """A function is not one program for all sizes; the message says why."""


def known_dims(shapes: Iterable[Shape]) -> dict[Dim, KnownDim]:
    """The dims of some shapes, with numbers that no other extent of theirs is a multiple of."""
    extents = [extent for shape in shapes for extent in shape]
    numbers = [extent for extent in extents if isinstance(extent, int)]
    found: dict[Dim, KnownDim] = {}
    for dim in dict.fromkeys(extent for extent in extents if isinstance(extent, Dim)):
        if any(other.name == dim.name for other in found):
            raise fail(f"two Dims are called {dim.name}")
        found[dim] = dim.known([*numbers, *(each.stand_in for each in found.values())])
    return found


def one_module(build: Callable[[Mapping[Dim, int]], ModuleOp], dims: Mapping[Dim, KnownDim]) -> ModuleOp:
    """The module for all sizes. build: records the function with a number for each dim. NotOne where it depends on
    these."""
    from irc.ir.extents import at_sizes, declare_dims
    from irc_frontend.kernels.choices import same_choices

    with same_choices(dims.values()) as choices:
        module = build({dim: known.stand_in for dim, known in dims.items()})
        declare_dims(module, list(dims.values()))
        for sample in range(2):
            choices.restart()
            of_sizes = at_sizes(module, {known.name: known.samples[sample] for known in dims.values()})
            again = build({dim: known.samples[sample] for dim, known in dims.items()})
            if not of_sizes.is_structurally_equivalent(again):
                raise NotOne("it computes with a size, or chooses by one")
    return module


def is_fixed(shape: Sequence[int], dims: Iterable[KnownDim]) -> bool:
    """Whether no number of a shape stands for a size."""
    known = list(dims)
    return not any(varying(extent, known) for extent in shape)
