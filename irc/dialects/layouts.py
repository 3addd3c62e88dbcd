"""Layouts of tiles as attributes of the tile dialect, which cuda has too: fragments in registers, shared buffers. The
layouts themselves are irc.layout's."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.layout.cute import IntTuple, Layout, congruent, flatten, format_int_tuple
from irc.layout.shared import IDENTITY, SharedLayout, Swizzle

OFFSET_BITS = 32
"""Of an offset in shared memory."""


MAX_HELD = 2**20
"""Elements of a fragment: more than the registers of a block hold of the narrowest."""


def parse_int_tuple(parser: AttrParser) -> IntTuple:
    """`4` or `(4,(8,2))`."""
    if parser.parse_optional_punctuation("(") is None:
        return parser.parse_integer(allow_boolean=False)
    items: list[IntTuple] = []
    if parser.parse_optional_punctuation(")") is not None:
        return ()
    items.append(parse_int_tuple(parser))
    while parser.parse_optional_punctuation(",") is not None:
        items.append(parse_int_tuple(parser))
    parser.parse_punctuation(")")
    return tuple(items)


@irdl_attr_definition
class FragmentAttr(Data[Layout]):
    """`#tile.fragment<((4,8),(2,2)):((256,1),(128,8))>`: (thread, value) -> colexicographic index of the tile's
    element.

    In CuTe's convention dimension 0 of the tile is the fastest, so element (i, j) of an M x N tile has index i + j * M.
    A thread or value mode of stride 0 replicates. The product of the thread shape is the number of threads.
    """

    name = "tile.fragment"
    alias_prefix: ClassVar[str] = "frag"

    @property
    def threads(self) -> int:
        """How many threads hold the tile."""
        return self.data.modes[0].size

    @property
    def values(self) -> int:
        """How many elements a thread holds."""
        return self.data.modes[1].size

    def verify(self) -> None:
        for what, mode in zip(("thread", "value"), self.data.modes, strict=True):
            if any(n < 1 for n, _ in mode.flat):
                raise VerifyException(f"expected positive extents of the {what} modes, found {list(mode.flat)}")
            if any(s < 0 for _, s in mode.flat):
                raise VerifyException(f"expected strides of at least 0 in the {what} modes, found {list(mode.flat)}")
        if self.threads * self.values > MAX_HELD:
            raise VerifyException(f"expected a fragment of at most {MAX_HELD} elements, found {self.data}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            shape = parse_int_tuple(parser)
            parser.parse_punctuation(":")
            stride = parse_int_tuple(parser)
        if isinstance(shape, int) or isinstance(stride, int) or len(shape) != 2 or len(stride) != 2:
            parser.raise_error("expected a pair (thread modes, value modes) of extents and of strides")
        for what, extents, strides in zip(("thread", "value"), shape, stride, strict=True):
            sizes = len(flatten(extents)), len(flatten(strides))
            if sizes[0] != sizes[1]:
                parser.raise_error(
                    f"expected as many strides as {what} modes, found {sizes[0]} extents and {sizes[1]} strides"
                )
        return Layout(tuple(map(flatten, shape)), tuple(map(flatten, stride)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class SharedAttr(Data[SharedLayout]):
    """`#tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>`: coordinate -> element offset in the buffer.

    A coordinate of a dimension runs through its nested modes with the first as the fastest (CuTe). swizzle(b, m, s)
    then xors the offset's bits [m, m + b) with its bits [m + s, m + s + b).
    """

    name = "tile.shared"
    alias_prefix: ClassVar[str] = "shared"

    def verify(self) -> None:
        swizzle = self.data.swizzle
        numbers = (swizzle.bits, swizzle.base, swizzle.shift)
        if min(numbers) < 0 or sum(numbers) > OFFSET_BITS:
            raise VerifyException(
                f"expected a swizzle of numbers of at least 0 that are {OFFSET_BITS} together at most, found {swizzle}"
            )

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedLayout:
        with parser.in_angle_brackets():
            shape = parse_int_tuple(parser)
            parser.parse_punctuation(":")
            stride = parse_int_tuple(parser)
            swizzle = parse_int_tuple(parser) if parser.parse_optional_keyword("swizzle") else None
        if isinstance(shape, int) or isinstance(stride, int):
            parser.raise_error("expected a tuple with one mode for each dimension")
        if not congruent(shape, stride):
            parser.raise_error(
                f"expected strides that nest like the shape, found {format_int_tuple(shape)}:{format_int_tuple(stride)}"
            )
        if swizzle is None:
            return SharedLayout(Layout(shape, stride))
        numbers = flatten(swizzle)
        if len(numbers) != 3:
            parser.raise_error(f"expected swizzle(bits, base, shift), found {len(numbers)} numbers")
        return SharedLayout(Layout(shape, stride), Swizzle(*numbers))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.layout}")
        swizzle = self.data.swizzle
        if swizzle != IDENTITY:
            printer.print_string(f" swizzle({swizzle.bits},{swizzle.base},{swizzle.shift})")
        printer.print_string(">")
