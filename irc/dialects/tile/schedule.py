"""When the ops of a loop run: a schedule, as attributes of them (docs/levels/tile.md#schedules)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.ir.discardable import SCHEDULED


@irdl_attr_definition
class AtAttr(ParametrizedAttribute):
    """`#tile.at<stage = 1, order = 3>`: an op of a loop runs `stage` iterations after the one it belongs to, and as
    number `order` of the ops of an iteration (Rau's modulo schedules, MICRO 1994)."""

    name = "tile.at"
    stage: IntAttr
    order: IntAttr

    @staticmethod
    def of(stage: int, order: int) -> AtAttr:
        return AtAttr(IntAttr(stage), IntAttr(order))

    def verify(self) -> None:
        if self.stage.data < 0 or self.order.data < 0:
            raise VerifyException(
                f"expected a stage and an order from 0 on, found {self.stage.data}, {self.order.data}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("stage")
            parser.parse_punctuation("=")
            stage = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            parser.parse_keyword("order")
            parser.parse_punctuation("=")
            order = parser.parse_integer(allow_boolean=False)
        return [IntAttr(stage), IntAttr(order)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"stage = {self.stage.data}, order = {self.order.data}")


def place_of(op: Operation) -> AtAttr | None:
    """Where an op stands in the schedule of its loop; None where it has no schedule."""
    found = op.attributes.get(SCHEDULED)
    return found if isinstance(found, AtAttr) else None
