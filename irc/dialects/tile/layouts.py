"""Layouts of tiles: fragments in registers, shared buffers; and the IntTuples that they are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

IntTuple = int | tuple["IntTuple", ...]
"""CuTe's IntTuple: a number or a tuple of IntTuples."""


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


def format_int_tuple(value: IntTuple) -> str:
    """`(4,(8,2))`: CuTe's own notation, without blanks."""
    if isinstance(value, int):
        return str(value)
    return "(" + ",".join(format_int_tuple(v) for v in value) + ")"


def flatten(value: IntTuple) -> tuple[int, ...]:
    """The numbers of an IntTuple from left to right."""
    if isinstance(value, int):
        return (value,)
    return tuple(n for v in value for n in flatten(v))


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether two IntTuples nest in the same way."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int)
    return len(a) == len(b) and all(congruent(x, y) for x, y in zip(a, b, strict=True))


@dataclass(frozen=True)
class FragmentLayout:
    """The modes of a fragment: thread modes and value modes, each flat; the first mode of each is the fastest."""

    thread_shape: tuple[int, ...]
    thread_stride: tuple[int, ...]
    value_shape: tuple[int, ...]
    value_stride: tuple[int, ...]


@irdl_attr_definition
class FragmentAttr(Data[FragmentLayout]):
    """`#tile.fragment<((4,8),(2,2)):((256,1),(128,8))>`: (thread, value) -> colexicographic index of the tile's
    element.

    In CuTe's convention dimension 0 of the tile is the fastest, so element (i, j) of an M x N tile has index i + j * M.
    A thread or value mode of stride 0 replicates. The product of the thread shape is the number of threads.
    """

    name = "tile.fragment"
    alias_prefix: ClassVar[str] = "frag"

    @staticmethod
    def of(
        thread_shape: Sequence[int],
        thread_stride: Sequence[int],
        value_shape: Sequence[int],
        value_stride: Sequence[int],
    ) -> FragmentAttr:
        return FragmentAttr(
            FragmentLayout(tuple(thread_shape), tuple(thread_stride), tuple(value_shape), tuple(value_stride))
        )

    @property
    def thread_shape(self) -> tuple[int, ...]:
        return self.data.thread_shape

    @property
    def thread_stride(self) -> tuple[int, ...]:
        return self.data.thread_stride

    @property
    def value_shape(self) -> tuple[int, ...]:
        return self.data.value_shape

    @property
    def value_stride(self) -> tuple[int, ...]:
        return self.data.value_stride

    @property
    def threads(self) -> int:
        """How many threads hold the tile."""
        return prod(self.thread_shape)

    @property
    def values(self) -> int:
        """How many elements a thread holds."""
        return prod(self.value_shape)

    @property
    def cosize(self) -> int:
        """One more than the greatest index that the layout reaches."""
        modes = zip(self.thread_shape + self.value_shape, self.thread_stride + self.value_stride, strict=True)
        return 1 + sum((n - 1) * s for n, s in modes)

    def verify(self) -> None:
        for what, shape, stride in (
            ("thread", self.thread_shape, self.thread_stride),
            ("value", self.value_shape, self.value_stride),
        ):
            if len(shape) != len(stride):
                raise VerifyException(
                    f"expected as many strides as {what} modes, found {len(shape)} extents and {len(stride)} strides"
                )
            if any(n < 1 for n in shape):
                raise VerifyException(f"expected positive extents of the {what} modes, found {list(shape)}")
            if any(s < 0 for s in stride):
                raise VerifyException(f"expected strides of at least 0 in the {what} modes, found {list(stride)}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> FragmentLayout:
        with parser.in_angle_brackets():
            shape = parse_int_tuple(parser)
            parser.parse_punctuation(":")
            stride = parse_int_tuple(parser)
        if isinstance(shape, int) or isinstance(stride, int) or len(shape) != 2 or len(stride) != 2:
            parser.raise_error("expected a pair (thread modes, value modes) of extents and of strides")
        return FragmentLayout(flatten(shape[0]), flatten(stride[0]), flatten(shape[1]), flatten(stride[1]))

    def print_parameter(self, printer: Printer) -> None:
        shape = (self.thread_shape, self.value_shape)
        stride = (self.thread_stride, self.value_stride)
        printer.print_string(f"<{format_int_tuple(shape)}:{format_int_tuple(stride)}>")


@dataclass(frozen=True)
class SharedLayout:
    """One mode, possibly nested, for each dimension of the buffer; `swizzle` is (bits,
    base, shift) on element offsets."""

    shape: tuple[IntTuple, ...]
    stride: tuple[IntTuple, ...]
    swizzle: tuple[int, int, int] | None = None


@irdl_attr_definition
class SharedAttr(Data[SharedLayout]):
    """`#tile.shared<(64,(64,4)):(64,(1,4096)) swizzle(3,3,3)>`: coordinate -> element offset in the buffer.

    A coordinate of a dimension runs through its nested modes with the first as the fastest (CuTe). swizzle(b, m, s)
    then xors the offset's bits [m, m + b) with its bits [m + s, m + s + b).
    """

    name = "tile.shared"
    alias_prefix: ClassVar[str] = "shared"

    @staticmethod
    def of(
        shape: Sequence[IntTuple], stride: Sequence[IntTuple], swizzle: tuple[int, int, int] | None = None
    ) -> SharedAttr:
        return SharedAttr(SharedLayout(tuple(shape), tuple(stride), swizzle))

    @property
    def shape(self) -> tuple[IntTuple, ...]:
        return self.data.shape

    @property
    def stride(self) -> tuple[IntTuple, ...]:
        return self.data.stride

    @property
    def swizzle(self) -> tuple[int, int, int] | None:
        return self.data.swizzle

    @property
    def extents(self) -> tuple[int, ...]:
        """The extent of each dimension of the buffer."""
        return tuple(prod(flatten(mode)) for mode in self.shape)

    @property
    def cosize(self) -> int:
        """How many elements the buffer spans."""
        modes = zip(flatten(self.shape), flatten(self.stride), strict=True)
        return 1 + sum((n - 1) * s for n, s in modes)

    def verify(self) -> None:
        if not congruent(self.shape, self.stride):
            raise VerifyException(
                "expected strides that nest like the shape, found "
                f"{format_int_tuple(self.shape)}:{format_int_tuple(self.stride)}"
            )
        if self.swizzle is not None and min(self.swizzle) < 0:
            raise VerifyException(f"expected a swizzle of numbers of at least 0, found {self.swizzle}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedLayout:
        with parser.in_angle_brackets():
            shape = parse_int_tuple(parser)
            parser.parse_punctuation(":")
            stride = parse_int_tuple(parser)
            swizzle = parse_int_tuple(parser) if parser.parse_optional_keyword("swizzle") else None
        if isinstance(shape, int) or isinstance(stride, int):
            parser.raise_error("expected a tuple with one mode for each dimension")
        if swizzle is None:
            return SharedLayout(shape, stride)
        numbers = flatten(swizzle)
        if len(numbers) != 3:
            parser.raise_error(f"expected swizzle(bits, base, shift), found {len(numbers)} numbers")
        return SharedLayout(shape, stride, (numbers[0], numbers[1], numbers[2]))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{format_int_tuple(self.shape)}:{format_int_tuple(self.stride)}")
        if self.swizzle is not None:
            printer.print_string(f" swizzle{format_int_tuple(self.swizzle)}")
        printer.print_string(">")
