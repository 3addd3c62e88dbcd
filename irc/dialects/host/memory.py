"""Memory that a plan names: ranges of its arguments and its arena, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntAttr, IntegerAttr, StringAttr, TensorType, i32
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from irc.ir.dtypes import element_of
from irc.ir.operations import PureOp

ARENA_ALIGNMENT = 256
"""Bytes. Buffers of the arena start at multiples of it, as allocations of the driver do."""


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`!host.buffer<8192>`: a range of global memory that a plan names, of that many bytes."""

    name = "host.buffer"

    size: IntAttr

    def __init__(self, size: int | IntAttr):
        super().__init__(IntAttr(size) if isinstance(size, int) else size)

    def verify(self) -> None:
        if self.size.data < 0:
            raise VerifyException(f"expected a size of zero bytes or more, found {self.size.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_int(self.size.data)


@irdl_op_definition
class ArenaOp(PureOp):
    """Scratch memory of the type's size that the runtime provides for the time of one run; at most one in a plan."""

    name = "host.arena"
    result = result_def(BufferType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int) -> None:
        super().__init__(BufferType(size))


@irdl_op_definition
class BufferOp(PureOp):
    """The range of a buffer or of the arena that starts at byte `offset`. Two ranges of the arena do not have to be
    disjoint. With `pitch` and `width` it is the first `width` bytes of each `pitch` of that range: those of an array
    that lies in a larger one."""

    name = "host.buffer"
    base = operand_def(BufferType)
    offset = prop_def(IntegerAttr)
    pitch = opt_prop_def(IntegerAttr)
    width = opt_prop_def(IntegerAttr)
    result = result_def(BufferType)
    assembly_format = "$base attr-dict `:` type($base) `->` type($result)"

    def __init__(self, base: SSAValue, offset: int, size: int, rows: tuple[int, int] | None = None) -> None:
        """rows: `pitch` and `width`."""
        super().__init__(base, offset, *(rows or (None, None)), BufferType(size))

    @property
    def rows(self) -> tuple[int, int] | None:
        """`pitch` and `width`; None of all bytes of a range."""
        return None if self.pitch is None or self.width is None else (self.pitch.value.data, self.width.value.data)

    def verify_(self) -> None:
        base, result, offset = self.base.type, self.result.type, self.offset.value.data
        assert isinstance(base, BufferType)
        assert isinstance(result, BufferType)
        if offset < 0 or offset + result.size.data > base.size.data:
            raise VerifyException(
                f"expected a range inside of {base.size.data} bytes, found {result.size.data} bytes at {offset}"
            )
        if isinstance(self.base.owner, ArenaOp) and offset % ARENA_ALIGNMENT:
            raise VerifyException(f"expected an offset that is a multiple of {ARENA_ALIGNMENT} bytes, found {offset}")
        if (self.pitch is None) != (self.width is None):
            raise VerifyException("expected pitch and width, or neither, found one of them")
        if self.rows is not None and not 0 < self.rows[1] <= self.rows[0]:
            raise VerifyException(f"expected a width from 1 to the pitch of {self.rows[0]}, found {self.rows[1]}")


@irdl_op_definition
class ConstantOp(PureOp):
    """A read-only buffer with an array's bytes, in row-major order, which the runtime fills once."""

    name = "host.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(BufferType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, value: DenseIntOrFPElementsAttr) -> None:
        super().__init__(value, BufferType(bytes_of(value.type)))

    def verify_(self) -> None:
        assert isinstance(self.result.type, BufferType)
        if self.result.type.size.data != bytes_of(self.value.type):
            raise VerifyException(f"expected a buffer of {bytes_of(self.value.type)} bytes, found {self.result.type}")


@irdl_op_definition
class SizeOp(PureOp):
    """The size of a dim of the module in a call, in multiples of what the dim is a multiple of (`irc.dims`)."""

    name = "host.size"
    dim = prop_def(StringAttr)
    result = result_def(i32)
    assembly_format = "$dim attr-dict `:` type($result)"


def bytes_of(type: Attribute) -> int:
    """Bytes of a contiguous array of a tensor type."""
    if not isinstance(type, TensorType) or not type.has_static_shape():
        raise VerifyException(f"expected a tensor of static shape, found {type}")
    try:
        return element_of(type).size * prod(type.get_shape())
    except KeyError:
        raise VerifyException(f"expected a tensor of irc's element types, found {type}") from None
