"""Types and layout attributes of the tile level.

A tile in registers is a builtin `tensor<128x64xbf16>`; its encoding is a `#tile.fragment` or nothing. Views, shared
buffers and channels are types of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.dialects.layouts import FragmentAttr, SharedAttr
from irc.ir.alignment import DEFAULT_ALIGN
from irc.ir.operations import Reach
from irc.layout.fragment import Fragment, is_same
from irc.layout.tcgen05 import ROWS
from irc.support.diagnostics import IrcError
from irc.support.shapes import row_major


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(v) for v in values])


def _print_shape(printer: Printer, shape: Sequence[int], element_type: Attribute) -> None:
    for extent in shape:
        printer.print_string(f"{extent}x")
    printer.print_attribute(element_type)


def _parse_int_list(parser: AttrParser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False))


@irdl_attr_definition
class ViewType(ParametrizedAttribute, TypeAttribute):
    """`!tile.view<4096x512xbf16, strides [512, 1], align 16>`: a strided description of a kernel's operand or result.

    Strides are in elements and not printed when they are row-major; `align`, of the base address and in bytes, is not
    printed when it is 16.
    """

    name = "tile.view"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    strides: ArrayAttr[IntAttr]
    align: IntAttr

    @staticmethod
    def of(
        shape: Sequence[int],
        element_type: Attribute,
        strides: Sequence[int] | None = None,
        align: int = DEFAULT_ALIGN,
    ) -> ViewType:
        """A view of `shape`; row-major where `strides` is None."""
        strides = row_major(shape) if strides is None else strides
        return ViewType(_ints(shape), element_type, _ints(strides), IntAttr(align))

    def get_shape(self) -> tuple[int, ...]:
        return tuple(n.data for n in self.shape)

    def get_strides(self) -> tuple[int, ...]:
        return tuple(n.data for n in self.strides)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def reach(self) -> Reach:
        """What of the memory behind it has elements of it."""
        if 0 in self.get_shape():
            return Reach(self.element_type, 0, 0)
        ends = [(n - 1) * stride for n, stride in zip(self.get_shape(), self.get_strides(), strict=True)]
        return Reach(self.element_type, sum(min(end, 0) for end in ends), 1 + sum(max(end, 0) for end in ends))

    @property
    def alignment(self) -> int:
        """Of the base address, in bytes."""
        return self.align.data

    def verify(self) -> None:
        if len(self.shape) != len(self.strides):
            raise VerifyException(
                f"expected a stride for each of {len(self.shape)} dimensions, found {len(self.strides)} strides"
            )
        if any(n < 0 for n in self.get_shape()):
            raise VerifyException(f"expected static extents of at least 0, found {list(self.get_shape())}")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise VerifyException(f"expected an alignment that is a power of two, found {self.alignment}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            strides: Sequence[int] = row_major(shape)
            align = DEFAULT_ALIGN
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("strides"):
                    strides = _parse_int_list(parser)
                else:
                    parser.parse_keyword("align")
                    align = parser.parse_integer(allow_boolean=False)
        return [_ints(shape), element_type, _ints(strides), IntAttr(align)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shape(printer, self.get_shape(), self.element_type)
            if self.get_strides() != row_major(self.get_shape()):
                printer.print_string(f", strides {list(self.get_strides())}")
            if self.alignment != DEFAULT_ALIGN:
                printer.print_string(f", align {self.alignment}")


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`!tile.buffer<128x64xbf16, #tile.shared<...>>`: a mutable tile in shared memory;
    without a layout until `assign-layouts`."""

    name = "tile.buffer"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    layout: Attribute

    @staticmethod
    def of(shape: Sequence[int], element_type: Attribute, layout: SharedAttr | None = None) -> BufferType:
        return BufferType(_ints(shape), element_type, NoneAttr() if layout is None else layout)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(n.data for n in self.shape)

    @property
    def shared_layout(self) -> SharedAttr | None:
        """The layout, or None where none has been assigned."""
        return self.layout if isinstance(self.layout, SharedAttr) else None

    def verify(self) -> None:
        if isinstance(self.layout, NoneAttr):
            return
        if not isinstance(self.layout, SharedAttr):
            raise VerifyException(f"expected a #tile.shared layout, found {self.layout}")
        if self.layout.data.shape != self.get_shape():
            raise VerifyException(
                f"expected a layout of shape {list(self.get_shape())}, found one of {list(self.layout.data.shape)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            layout: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                layout = parser.parse_attribute()
        return [_ints(shape), element_type, layout]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_shape(printer, self.get_shape(), self.element_type)
            if not isinstance(self.layout, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.layout)


@irdl_attr_definition
class ChannelType(ParametrizedAttribute, TypeAttribute):
    """`!tile.channel<!tile.buffer<...>, ...>`: a queue of stages, each holding one buffer of every type listed."""

    name = "tile.channel"
    buffers: ArrayAttr[Attribute]

    @staticmethod
    def of(buffers: Sequence[Attribute]) -> ChannelType:
        return ChannelType(ArrayAttr(buffers))

    def verify(self) -> None:
        for buffer in self.buffers:
            if not isinstance(buffer, BufferType):
                raise VerifyException(f"expected buffers in a channel, found {buffer}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_attribute))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.buffers, printer.print_attribute)


@irdl_attr_definition
class SlotType(ParametrizedAttribute, TypeAttribute):
    """`!tile.slot<fill>`, `!tile.slot<drain>`: a stage of a channel that is held, from `acquire` to `commit` or from
    `wait` to `release`. It is linear: on every path, one op ends it."""

    name = "tile.slot"
    end: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_keyword_in(("fill", "drain")))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.end.data)


@irdl_attr_definition
class OrderType(ParametrizedAttribute, TypeAttribute):
    """`!tile.order`: whose turn it is, of the warp groups of a partition."""

    name = "tile.order"


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!tile.token`: the turn of an order, which one warp group has at a time, from `take` to `pass`. It is linear: on
    every path, one op passes it on."""

    name = "tile.token"


FILL, DRAIN = SlotType(StringAttr("fill")), SlotType(StringAttr("drain"))


@irdl_attr_definition
class PendingType(ParametrizedAttribute, TypeAttribute):
    """`!tile.pending<tensor<64x64xf32>>`: the accumulator of a dot that may still be in flight. Only dots, which go on
    with it in place, loops, and waits take it."""

    name = "tile.pending"
    tile: Attribute

    def verify(self) -> None:
        if not isinstance(self.tile, TensorType):
            raise VerifyException(f"expected a tile, found {self.tile}")


@irdl_attr_definition
class AccumulatorType(ParametrizedAttribute, TypeAttribute):
    """`!tile.accumulator<tensor<128x64xf32>>`: where the sums of dots are, in Tensor Memory. Each 128 rows have as many
    columns of it as the tile has."""

    name = "tile.accumulator"
    tile: Attribute

    @property
    def columns(self) -> int:
        rows, columns = shape_of(self.tile)
        return rows // ROWS * columns

    def verify(self) -> None:
        if not isinstance(self.tile, TensorType):
            raise VerifyException(f"expected a tile, found {self.tile}")


def tile_type_of(type: Attribute) -> Attribute:
    """The type of the tile that a dot in flight gives; any other type as it is."""
    return type.tile if isinstance(type, PendingType) else type


def shape_of(type: Attribute) -> tuple[int, ...]:
    """The shape of a tile, one in flight too, of a buffer or a view."""
    type = tile_type_of(type)
    if isinstance(type, TensorType | ViewType | BufferType):
        return tuple(type.get_shape())
    raise VerifyException(f"expected a tile, buffer or view, found {type}")


def element_type_of(type: Attribute) -> Attribute:
    """The element type of a tile, one in flight too, of a buffer or a view; a scalar's own type."""
    type = tile_type_of(type)
    if isinstance(type, TensorType | ViewType | BufferType):
        shaped: Any = type
        return shaped.element_type
    return type


def verify_fragment(type: Attribute) -> None:
    """Raises where a tile has a fragment whose modes do not walk along its dimensions, or one of another shape."""
    attr = fragment_of(type)
    if attr is None:
        return
    shape = shape_of(type)
    try:
        fragment = Fragment.from_layout(shape, attr.data)
    except ValueError as error:
        raise VerifyException(str(error)) from error
    if fragment.extents != shape:
        raise VerifyException(f"expected a fragment of shape {list(shape)}, found one of {list(fragment.extents)}")
    if fragment.has_holes:
        raise VerifyException(f"expected a fragment that holds every element of a tile, found {attr.data}")


def verify_broadcast(part: Attribute, whole: Attribute) -> None:
    """Raises where a thread does not hold the elements of a tile that meet those of another one, to which the tile is
    broadcast. Tiles without fragments are not compared."""
    own, other = fragment_of(part), fragment_of(whole)
    if own is None or other is None or (own == other and shape_of(part) == shape_of(whole)):
        return
    wanted = _projection(other, shape_of(whole), shape_of(part))
    if not _lies_as(own, shape_of(part), wanted):
        raise VerifyException(f"expected a fragment that is the projection {wanted.layout}, found {own.data}")


def verify_part(part: Attribute, whole: Attribute) -> None:
    """Raises where a thread does not hold the elements of a slice among those that it holds of the tile. Tiles without
    fragments are not compared."""
    own, other = fragment_of(part), fragment_of(whole)
    if own is None or other is None:
        return
    wanted = _part(other, shape_of(whole), shape_of(part))
    if wanted is None:
        raise VerifyException(f"expected a slice of whole registers, found {list(shape_of(part))} of {other.data}")
    if not _lies_as(own, shape_of(part), wanted):
        raise VerifyException(f"expected a fragment that is the slice {wanted.layout}, found {own.data}")


def verify_folded(one: Attribute, whole: Attribute, axes: tuple[int, ...]) -> None:
    """Raises where a tile does not have, along `axes`, an element for each thread of another one."""
    own, other, shape = fragment_of(one), fragment_of(whole), shape_of(whole)
    if own is None or other is None:
        raise VerifyException("expected tiles with fragments: threads combine what they hold")
    if any(not 0 <= axis < len(shape) for axis in axes):
        raise VerifyException(f"expected axes below {len(shape)}, found {list(axes)}")
    wanted = Fragment.from_layout(shape, other.data).folded(axes)
    if wanted.shape != shape_of(one) or not _lies_as(own, wanted.shape, wanted):
        expected = f"{list(wanted.shape)} with the fragment {wanted.layout}"
        raise VerifyException(
            f"expected an element for each thread, {expected}, found {list(shape_of(one))}, {own.data}"
        )


@cache
def _part(fragment: FragmentAttr, shape: tuple[int, ...], part: tuple[int, ...]) -> Fragment | None:
    return Fragment.from_layout(shape, fragment.data).part(part)


@cache
def _projection(fragment: FragmentAttr, shape: tuple[int, ...], part: tuple[int, ...]) -> Fragment:
    return Fragment.from_layout(shape, fragment.data).onto(part)


@cache
def _lies_as(fragment: FragmentAttr, shape: tuple[int, ...], wanted: Fragment) -> bool:
    return is_same(Fragment.from_layout(shape, fragment.data), wanted)


def fragment_of(type: Attribute) -> FragmentAttr | None:
    """The fragment layout of a tile, or None where none has been assigned."""
    type = tile_type_of(type)
    tensor: Any = type
    if isinstance(type, TensorType) and isinstance(tensor.encoding, FragmentAttr):
        return tensor.encoding
    return None


def fragment_layout(type: Attribute) -> Fragment:
    """The fragment of a tile type that has been assigned one."""
    encoding = fragment_of(type)
    if encoding is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts first")
    return Fragment.from_layout(shape_of(type), encoding.data)


def with_fragment(type: Attribute, fragment: Fragment) -> TensorType[Attribute]:
    """The tile type with this fragment."""
    return TensorType(element_type_of(type), shape_of(type), FragmentAttr(fragment.layout))
