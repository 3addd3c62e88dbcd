"""Types of the cuda dialect: global pointers, register arrays, tensor maps.

A shared-memory address is a plain `i32`: the byte address in the shared window (PTX ISA, 5.1.7), as `cuda.shared`
gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerType,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.ir.properties import values_of
from irc.ir.windows import CORNERS, MAX_PIXELS, MAX_STEP
from irc.support.shapes import row_major

SWIZZLES = (0, 32, 64, 128)
"""Widths in bytes of the shared-memory swizzle patterns of TMA and wgmma; 0 is none (PTX ISA, 5.5.6)."""

MAX_BOX = 256
"""Elements of a box along a dimension."""

_FLOAT_SIZES: dict[type[Attribute], int] = {
    Float64Type: 8,
    Float32Type: 4,
    Float16Type: 2,
    BFloat16Type: 2,
    Float8E4M3FNType: 1,
    Float8E5M2Type: 1,
}


def size_of(type: Attribute) -> int:
    """Bytes of one element in memory (a bool takes one); VerifyException where a device scalar cannot have the type."""
    if isinstance(type, IntegerType) and type.width.data in (1, 8, 16, 32, 64):
        return max(1, type.width.data // 8)
    if isinstance(type, IndexType):
        return 8
    size = _FLOAT_SIZES.get(type.__class__)
    if size is None:
        raise VerifyException(f"expected a scalar of 1, 8, 16, 32 or 64 bits or a float, found {type}")
    return size


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """`!cuda.ptr<bf16>`: the address of an array in global memory; accesses name an offset in elements."""

    name = "cuda.ptr"

    element: Attribute

    def verify(self) -> None:
        size_of(self.element)


@irdl_attr_definition
class RegistersType(ParametrizedAttribute, TypeAttribute):
    """`!cuda.registers<128 x f32>`: a mutable array of one thread, in registers while every index is known after
    unrolling."""

    name = "cuda.registers"

    size: IntAttr
    element: Attribute

    def __init__(self, size: int | IntAttr, element: Attribute):
        super().__init__(IntAttr(size) if isinstance(size, int) else size, element)

    @property
    def count(self) -> int:
        return self.size.data

    def verify(self) -> None:
        if self.count < 1:
            raise VerifyException(f"expected one register element or more, found {self.count}")
        size_of(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            size = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_characters("x")
            return IntAttr(size), parser.parse_type()

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.count} x ")
            printer.print_attribute(self.element)


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """`!cuda.tensor_map<bf16, [4096, 512], strides [512, 1], box [128, 64], swizzle 128>`: a CUtensorMap (driver API,
    6.30).

    Lists have one entry for each dimension, outermost first (the driver's own order is the reverse). `strides` are in
    elements and include the innermost, which is 1; omitted in text, they are the row-major ones. `box` is in
    elements; `swizzle` is the width of the pattern in bytes: 0, 32, 64 or 128. Elements outside the array read as
    zero and are not written.

    `!cuda.tensor_map<bf16, [8, 56, 56, 256], window [-1, -1] to [-1, -1] steps [1, 1], box [128, 64], swizzle 128>` is
    one of the im2col mode (PTX ISA, 5.5.4): dimensions are images, up to three of space, and channels. A box is a
    column of so many pixels, of so many channels each. Pixels go over the places of a window, the innermost dimension
    first, in `steps`: along each from its `lower` corner, a coordinate, to its `upper` one, which is relative to the
    last element; then comes the next image. A load moves all pixels of a box by an offset of its own.
    """

    name = "cuda.tensor_map"

    element: Attribute
    extents: DenseArrayBase
    strides: DenseArrayBase
    box: DenseArrayBase
    swizzle: IntAttr
    lower: DenseArrayBase
    upper: DenseArrayBase
    steps: DenseArrayBase

    @staticmethod
    def of(
        element: Attribute,
        extents: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        swizzle: int = 0,
        window: tuple[Sequence[int], Sequence[int], Sequence[int]] = ((), (), ()),
    ) -> TensorMapType:
        """window: `lower`, `upper` and `steps`, for the im2col mode."""

        def dense(values: Sequence[int]) -> DenseArrayBase:
            return DenseArrayBase.from_list(i64, values)

        lower, upper, steps = map(dense, window)
        sizes = dense(extents), dense(strides), dense(box)
        return TensorMapType(element, *sizes, IntAttr(swizzle), lower, upper, steps)

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def is_im2col(self) -> bool:
        return len(self.steps) > 0

    def verify(self) -> None:
        """The limits of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col."""
        size = size_of(self.element)
        if not 1 <= self.rank <= 5:
            raise VerifyException(f"expected 1 to 5 dimensions in a tensor map, found {self.rank}")
        sides = 2 if self.is_im2col else self.rank
        if len(self.strides) != self.rank or len(self.box) != sides:
            raise VerifyException(
                f"expected {self.rank} strides and {sides} box extents, found {len(self.strides)} and {len(self.box)}"
            )
        strides, box = _values(self.strides), _values(self.box)
        self._verify_window()
        if any(not 1 <= extent <= 2**32 for extent in _values(self.extents)):
            raise VerifyException(f"expected tensor map extents in 1..2^32, found {_values(self.extents)}")
        if strides[-1] != 1:
            raise VerifyException(f"expected an innermost stride of 1, found {strides[-1]}")
        for stride in strides[:-1]:
            if stride * size % 16 or not 0 <= stride * size < 2**40:
                raise VerifyException(
                    f"expected strides that are multiples of 16 bytes below 2^40, found {stride} x {size}"
                )
        most = [MAX_PIXELS if self.is_im2col and at == 0 else MAX_BOX for at in range(sides)]
        if any(not 1 <= extent <= limit for extent, limit in zip(box, most, strict=True)):
            raise VerifyException(f"expected box extents in 1..{', 1..'.join(map(str, most))}, found {box}")
        if box[-1] * size % 16:
            raise VerifyException(f"expected an inner box extent of a multiple of 16 bytes, found {box[-1] * size}")
        if self.swizzle.data not in SWIZZLES:
            raise VerifyException(f"expected a swizzle of {SWIZZLES} bytes, found {self.swizzle.data}")
        if self.swizzle.data and box[-1] * size > self.swizzle.data:
            raise VerifyException(
                f"expected an inner box of at most the swizzle's {self.swizzle.data} bytes, found {box[-1] * size}"
            )

    def _verify_window(self) -> None:
        corners = (*_values(self.lower), *_values(self.upper))
        spatial = self.rank - 2 if self.is_im2col else 0
        if self.is_im2col and spatial not in CORNERS:
            raise VerifyException(f"expected 3 to 5 dimensions in a tensor map with a window, found {self.rank}")
        if any(len(values) != spatial for values in (self.lower, self.upper, self.steps)):
            raise VerifyException(f"expected {spatial} corners and steps of a window, found {len(self.steps)}")
        if not self.is_im2col:
            return
        if any(corner not in CORNERS[spatial] for corner in corners):
            least, most = CORNERS[spatial][0], CORNERS[spatial][-1]
            raise VerifyException(f"expected corners of a window in {least}..{most}, found {list(corners)}")
        if any(not 1 <= step <= MAX_STEP for step in _values(self.steps)):
            raise VerifyException(f"expected steps of a window in 1..{MAX_STEP}, found {_values(self.steps)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            extents = _parse_list(parser)
            strides = list(row_major(extents))
            parser.parse_punctuation(",")
            if parser.parse_optional_keyword("strides"):
                strides = _parse_list(parser)
                parser.parse_punctuation(",")
            window: tuple[list[int], list[int], list[int]] = ([], [], [])
            if parser.parse_optional_keyword("window"):
                lower = _parse_list(parser)
                parser.parse_keyword("to")
                upper = _parse_list(parser)
                parser.parse_keyword("steps")
                window = lower, upper, _parse_list(parser)
                parser.parse_punctuation(",")
            parser.parse_keyword("box")
            box = _parse_list(parser)
            swizzle = 0
            if parser.parse_optional_punctuation(","):
                parser.parse_keyword("swizzle")
                swizzle = parser.parse_integer(allow_boolean=False)
        return TensorMapType.of(element, extents, strides, box, swizzle, window).parameters

    def print_parameters(self, printer: Printer) -> None:
        extents, strides = _values(self.extents), _values(self.strides)
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f", {extents}")
            if strides != list(row_major(extents)):
                printer.print_string(f", strides {strides}")
            if self.is_im2col:
                lower, upper, steps = (_values(values) for values in (self.lower, self.upper, self.steps))
                printer.print_string(f", window {lower} to {upper} steps {steps}")
            printer.print_string(f", box {_values(self.box)}")
            if self.swizzle.data:
                printer.print_string(f", swizzle {self.swizzle.data}")


def _values(array: DenseArrayBase) -> list[int]:
    return list(values_of(array))


def _parse_list(parser: AttrParser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
