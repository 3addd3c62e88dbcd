"""The access kind of a copy that TMA makes in its im2col mode."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.ir.properties import values_of

_LISTS = ("dims", "lower", "upper", "steps")


@irdl_attr_definition
class Im2colAttr(ParametrizedAttribute):
    """`#tile.im2col<dims = [0, 1, 2, 3], lower = [-1, -1], upper = [-1, -1], steps = [1, 1]>`: a copy of pixels of a
    window (PTX ISA, 5.5.4).

    `dims` are the dimensions of the view: the images, those of space, outermost first, and the channels; -1 for the
    images where the view is of one. The pixels of a tile go over the places of a window: along each dimension of space,
    the last one first, in `steps` from its `lower` corner to its `upper` one, which is relative to the last element;
    then comes the next image.
    """

    name = "tile.im2col"
    dims: DenseArrayBase
    lower: DenseArrayBase
    upper: DenseArrayBase
    steps: DenseArrayBase

    @staticmethod
    def of(dims: Sequence[int], lower: Sequence[int], upper: Sequence[int], steps: Sequence[int]) -> Im2colAttr:
        return Im2colAttr(*(DenseArrayBase.from_list(i64, values) for values in (dims, lower, upper, steps)))

    @property
    def dimensions(self) -> tuple[int, ...]:
        return values_of(self.dims)

    @property
    def window(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """`lower`, `upper` and `steps`."""
        return values_of(self.lower), values_of(self.upper), values_of(self.steps)

    def verify(self) -> None:
        counts = [len(values) for values in self.window]
        if counts != [len(self.dims) - 2] * 3:
            raise VerifyException(
                f"expected corners and steps for {len(self.dims) - 2} dimensions of a window, found {counts}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        lists: list[list[int]] = []
        with parser.in_angle_brackets():
            for name in _LISTS:
                if lists:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                lists.append(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
        return Im2colAttr.of(*lists).parameters

    def print_parameters(self, printer: Printer) -> None:
        lists = ((name, list(values_of(getattr(self, name)))) for name in _LISTS)
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{name} = {values}" for name, values in lists))
