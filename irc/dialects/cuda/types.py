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

SWIZZLES = (0, 32, 64, 128)
"""Widths in bytes of the shared-memory swizzle patterns of TMA and wgmma; 0 is none (PTX ISA, 5.5.6)."""

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

    @property
    def bytes(self) -> int:
        return self.count * size_of(self.element)

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
    """

    name = "cuda.tensor_map"

    element: Attribute
    extents: DenseArrayBase
    strides: DenseArrayBase
    box: DenseArrayBase
    swizzle: IntAttr

    @staticmethod
    def of(
        element: Attribute, extents: Sequence[int], strides: Sequence[int], box: Sequence[int], swizzle: int = 0
    ) -> TensorMapType:
        def dense(values: Sequence[int]) -> DenseArrayBase:
            return DenseArrayBase.from_list(i64, values)

        return TensorMapType(element, dense(extents), dense(strides), dense(box), IntAttr(swizzle))

    @property
    def rank(self) -> int:
        return len(self.extents)

    def verify(self) -> None:
        """The limits of cuTensorMapEncodeTiled."""
        size = size_of(self.element)
        if not 1 <= self.rank <= 5:
            raise VerifyException(f"expected 1 to 5 dimensions in a tensor map, found {self.rank}")
        if len(self.strides) != self.rank or len(self.box) != self.rank:
            raise VerifyException(
                f"expected {self.rank} strides and box extents, found {len(self.strides)} and {len(self.box)}"
            )
        strides, box = _values(self.strides), _values(self.box)
        if any(not 1 <= extent <= 2**32 for extent in _values(self.extents)):
            raise VerifyException(f"expected tensor map extents in 1..2^32, found {_values(self.extents)}")
        if strides[-1] != 1:
            raise VerifyException(f"expected an innermost stride of 1, found {strides[-1]}")
        for stride in strides[:-1]:
            if stride * size % 16 or not 0 <= stride * size < 2**40:
                raise VerifyException(
                    f"expected strides that are multiples of 16 bytes below 2^40, found {stride} x {size}"
                )
        if any(not 1 <= extent <= 256 for extent in box):
            raise VerifyException(f"expected box extents in 1..256, found {box}")
        if box[-1] * size % 16:
            raise VerifyException(f"expected an inner box extent of a multiple of 16 bytes, found {box[-1] * size}")
        if self.swizzle.data not in SWIZZLES:
            raise VerifyException(f"expected a swizzle of {SWIZZLES} bytes, found {self.swizzle.data}")
        if self.swizzle.data and box[-1] * size > self.swizzle.data:
            raise VerifyException(
                f"expected an inner box of at most the swizzle's {self.swizzle.data} bytes, found {box[-1] * size}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            parser.parse_punctuation(",")
            extents = _parse_list(parser)
            strides = row_major(extents)
            parser.parse_punctuation(",")
            if parser.parse_optional_keyword("strides"):
                strides = _parse_list(parser)
                parser.parse_punctuation(",")
            parser.parse_keyword("box")
            box = _parse_list(parser)
            swizzle = 0
            if parser.parse_optional_punctuation(","):
                parser.parse_keyword("swizzle")
                swizzle = parser.parse_integer(allow_boolean=False)
        return TensorMapType.of(element, extents, strides, box, swizzle).parameters

    def print_parameters(self, printer: Printer) -> None:
        extents, strides = _values(self.extents), _values(self.strides)
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f", {extents}")
            if strides != row_major(extents):
                printer.print_string(f", strides {strides}")
            printer.print_string(f", box {_values(self.box)}")
            if self.swizzle.data:
                printer.print_string(f", swizzle {self.swizzle.data}")


def row_major(extents: Sequence[int]) -> list[int]:
    """Strides, in elements, of a contiguous row-major array."""
    strides = [1] * len(extents)
    for axis in reversed(range(len(extents) - 1)):
        strides[axis] = strides[axis + 1] * extents[axis + 1]
    return strides


def _values(array: DenseArrayBase) -> list[int]:
    return list(values_of(array))


def _parse_list(parser: AttrParser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
