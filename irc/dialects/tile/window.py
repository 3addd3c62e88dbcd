"""Loads of the elements that the windows of a tile read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.memory import AccessOp
from irc.ir.properties import values_of


@irdl_op_definition
class LoadWindowOp(AccessOp):
    """Global memory -> registers, several tiles of one type: result number t is what a `load` gives whose map has
    `taps[t]`, a number for each dimension of the view, added to its coordinates.

    A thread holds an element that several of them have once, and loads neighbors as vectors. The map is linear.
    """

    name = "tile.load_window"
    other = opt_operand_def()
    taps = prop_def(DenseArrayBase)
    outputs = var_result_def()

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$view `[` $offsets `]` (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`other` $other^ `:` type($other))? "
        "attr-dict `:` type($view) `->` type($outputs)"
    )

    @staticmethod
    def of(
        view: SSAValue,
        offsets: Sequence[SSAValue],
        types: Sequence[Attribute],
        *,
        map: AffineMap,
        taps: Sequence[Sequence[int]],
        **named: Any,
    ) -> LoadWindowOp:
        numbers = [number for tap in taps for number in tap]
        return LoadWindowOp(view, offsets, map=AffineMapAttr(map), taps=numbers, outputs=types, **named)

    @property
    def tap_values(self) -> tuple[tuple[int, ...], ...]:
        """For each result what is added to the coordinates."""
        numbers, rank = values_of(self.taps), self.view_type.rank
        return tuple(numbers[at : at + rank] for at in range(0, len(numbers), rank))

    def verify_(self) -> None:
        if not self.outputs:
            raise VerifyException("expected a result or more")
        for value in self.outputs:
            verify_same("results of one type,", self.outputs[0].type, value.type)
        self.verify_access(self.outputs[0].type)
        count = len(self.outputs) * self.view_type.rank
        verify_same("a number for each result and dimension of the view:", count, len(values_of(self.taps)))
        if self.other is not None:
            verify_same("`other` of type", self.view_type.element_type, self.other.type)
