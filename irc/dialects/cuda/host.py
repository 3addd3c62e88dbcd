"""The host's side: one static plan of steps on buffers, streams and events. Nothing in it allocates or depends on
values.

Streams and events are small numbers. The runtime forks streams 1, 2, ... from stream 0, which is the caller's, at the
start and joins them at the end only as far as the plan's own records and waits say so: the last step of every stream
has to be ordered before the end of stream 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import effects, number, values_of
from irc.dialects.cuda.kernel import KernelOp, ReturnOp
from irc.dialects.cuda.types import BufferType, size_of

Kernels = Mapping[str, KernelOp]

ARENA_ALIGNMENT = 256
"""Bytes. Buffers of the arena start at multiples of it, as allocations of the driver do."""


@irdl_op_definition
class PlanOp(IRDLOperation):
    """`cuda.plan @f (%x, %out) : (tensor<8xf32>) -> tensor<8xf32> streams n {...}`: everything that the host does to
    run a function.

    The arguments are buffers: of the function's arguments, then of its results, of the sizes that `function_type`
    gives. `donated` has pairs of numbers: the result, and the argument whose memory it is written to
    instead of its own.
    """

    name = "cuda.plan"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    streams = prop_def(IntegerAttr)
    donated = opt_prop_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, function_type: FunctionType, *, streams: int = 1, body: Region | None = None) -> None:
        """Without a body, a new one with an argument for each argument and result of the function."""
        super().__init__(
            properties={"sym_name": StringAttr(name), "function_type": function_type, "streams": number(streams)},
            regions=[Region(Block(arg_types=_buffers_of(function_type))) if body is None else body],
        )

    @property
    def inputs(self) -> Sequence[SSAValue]:
        """The buffers of the function's arguments."""
        return self.body.block.args[: len(self.function_type.inputs)]

    @property
    def outputs(self) -> Sequence[SSAValue]:
        """The buffers of the function's results."""
        return self.body.block.args[len(self.function_type.inputs) :]

    @property
    def donations(self) -> dict[int, int]:
        """The number of the argument by that of the result that is written to its memory."""
        found = () if self.donated is None else values_of(self.donated)
        return dict(zip(found[::2], found[1::2], strict=True))

    def verify_(self) -> None:
        from irc.dialects.cuda.plan_checks import check_plan

        expected, found = _buffers_of(self.function_type), list(self.body.block.arg_types)
        if expected != found:
            raise VerifyException(f"expected plan arguments {_listed(expected)}, found {_listed(found)}")
        if self.streams.value.data < 1:
            raise VerifyException(f"expected one stream or more, found {self.streams.value.data}")
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("expected cuda.plan to end with cuda.return")
        check_plan(self)

    @classmethod
    def parse(cls, parser: Parser) -> PlanOp:
        name = parser.parse_symbol_name()
        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        function_type = parser.parse_type()
        if not isinstance(function_type, FunctionType):
            parser.raise_error("expected a function type")
        streams = parser.parse_integer() if parser.parse_optional_keyword("streams") else 1
        types = _buffers_of(function_type)
        if len(types) != len(names):
            parser.raise_error(f"expected {len(types)} names, for arguments and results, found {len(names)}")
        arguments = [parser.Argument(n.span, t) for n, t in zip(names, types, strict=True)]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        plan = cls(name.data, function_type, streams=streams, body=parser.parse_region(arguments))
        if attributes is not None:
            plan.attributes |= attributes.data
            if "donated" in plan.attributes:
                plan.properties["donated"] = plan.attributes.pop("donated")
        return plan

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.function_type)
        if self.streams.value.data != 1:
            printer.print_string(f" streams {self.streams.value.data}")
        donated = {} if self.donated is None else {"donated": self.donated}
        if attributes := {**donated, **self.attributes}:
            printer.print_op_attributes(attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class ArenaOp(IRDLOperation):
    """Scratch memory of the type's size that the runtime provides for the time of one run; at most one in a plan."""

    name = "cuda.arena"
    result = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, size: int) -> None:
        super().__init__(result_types=[BufferType(size)])


@irdl_op_definition
class BufferOp(IRDLOperation):
    """The range of a buffer or of the arena that starts at byte `offset`. Two ranges of the arena do not have to be
    disjoint."""

    name = "cuda.buffer"
    base = operand_def(BufferType)
    offset = prop_def(IntegerAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base attr-dict `:` type($base) `->` type($result)"

    def __init__(self, base: SSAValue, offset: int, size: int) -> None:
        super().__init__(operands=[base], properties={"offset": number(offset)}, result_types=[BufferType(size)])

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


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A read-only buffer with an array's bytes, in row-major order, which the runtime fills once."""

    name = "cuda.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, value: DenseIntOrFPElementsAttr) -> None:
        super().__init__(properties={"value": value}, result_types=[BufferType(bytes_of(value.type))])

    def verify_(self) -> None:
        assert isinstance(self.result.type, BufferType)
        if self.result.type.size.data != bytes_of(self.value.type):
            raise VerifyException(f"expected a buffer of {bytes_of(self.value.type)} bytes, found {self.result.type}")


class StepOp(IRDLOperation):
    """A step of the plan: it is enqueued on `stream`."""

    stream = prop_def(IntegerAttr, default_value=number(0))

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        """Each buffer that the step touches, and whether it may write it; `kernels` are the module's, by name."""
        return ()


@irdl_op_definition
class LaunchOp(StepOp):
    """Run a kernel: its `operands` property says which of these buffers (or scalar constants) each of its arguments
    describes. With `sets` the buffers are as many sets of operands, one behind the other, on which the kernel runs side
    by side."""

    name = "cuda.launch"
    kernel = prop_def(FlatSymbolRefAttr)
    buffers = var_operand_def()
    sets = prop_def(IntegerAttr, default_value=number(1))
    traits = traits_def(*effects())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kernel `(` $buffers `)` attr-dict `:` `(` type($buffers) `)`"

    def __init__(self, kernel: str, buffers: Sequence[SSAValue], *, stream: int = 0, sets: int = 1) -> None:
        properties = {"kernel": SymbolRefAttr(kernel), "stream": number(stream), "sets": number(sets)}
        super().__init__(operands=[buffers], properties=properties)

    @property
    def kernel_name(self) -> str:
        return self.kernel.root_reference.data

    @property
    def operand_sets(self) -> list[Sequence[SSAValue]]:
        """The sets of operands."""
        sets = max(1, self.sets.value.data)
        size = len(self.buffers) // sets
        return [self.buffers[number * size : (number + 1) * size] for number in range(sets)]

    @property
    def target(self) -> KernelOp | None:
        """The kernel, looked up in the module; for many launches use a table of kernels by name."""
        kernel = SymbolTable.lookup_symbol(self, self.kernel)
        return kernel if isinstance(kernel, KernelOp) else None

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        kernel = kernels.get(self.kernel_name)
        if kernel is None:
            return [(buffer, True) for buffer in self.buffers]
        return [access for each in self.operand_sets for access in accesses_of_set(each, kernel)]

    def verify_(self) -> None:
        sets = self.sets.value.data
        if sets < 1 or len(self.buffers) % sets:
            raise VerifyException(f"expected operands in {sets} sets, found {len(self.buffers)}")


def accesses_of_set(operands: Sequence[SSAValue], kernel: KernelOp) -> list[tuple[SSAValue, bool]]:
    """Each buffer of a set of operands, and whether the kernel may write it."""
    written = {o for o, writes in zip(kernel.operand_of_argument, kernel.written, strict=True) if writes}
    return [(b, i in written) for i, b in enumerate(operands) if isinstance(b.type, BufferType)]


@irdl_op_definition
class MemsetOp(StepOp):
    """Set every byte of a buffer to `value`, 0..255."""

    name = "cuda.memset"
    buffer = operand_def(BufferType)
    value = prop_def(IntegerAttr, default_value=number(0))
    traits = traits_def(*effects())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, value: int = 0, *, stream: int = 0) -> None:
        super().__init__(operands=[buffer], properties={"value": number(value), "stream": number(stream)})

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        return [(self.buffer, True)]

    def verify_(self) -> None:
        if not 0 <= self.value.value.data <= 255:
            raise VerifyException(f"expected a byte, found {self.value.value.data}")


@irdl_op_definition
class CopyOp(StepOp):
    """Copy the bytes of one buffer to another of the same size."""

    name = "cuda.copy"
    source = operand_def(BufferType)
    destination = operand_def(BufferType)
    traits = traits_def(*effects())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `->` $destination attr-dict `:` type($source) `->` type($destination)"

    def __init__(self, source: SSAValue, destination: SSAValue, *, stream: int = 0) -> None:
        super().__init__(operands=[source, destination], properties={"stream": number(stream)})

    def accesses(self, kernels: Kernels) -> Sequence[tuple[SSAValue, bool]]:
        return [(self.source, False), (self.destination, True)]

    def verify_(self) -> None:
        if self.source.type != self.destination.type:
            raise VerifyException(f"expected buffers of one size, found {self.source.type} and {self.destination.type}")


class EventOp(StepOp):
    """A step on an event."""

    event = prop_def(IntegerAttr)
    traits = traits_def(*effects())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, event: int, *, stream: int) -> None:
        super().__init__(properties={"event": number(event), "stream": number(stream)})


@irdl_op_definition
class RecordOp(EventOp):
    """The event is complete when all steps before this one on the stream are."""

    name = "cuda.record"


@irdl_op_definition
class WaitOp(EventOp):
    """Later steps of the stream start when the event, recorded above, is complete."""

    name = "cuda.wait"


def bytes_of(type: Attribute) -> int:
    """Bytes of a contiguous array of a tensor type."""
    if not isinstance(type, TensorType) or not type.has_static_shape():
        raise VerifyException(f"expected a tensor of static shape, found {type}")
    size = size_of(type.element_type)
    for extent in type.get_shape():
        size *= extent
    return size


def _buffers_of(function_type: FunctionType) -> list[Attribute]:
    return [BufferType(bytes_of(t)) for t in (*function_type.inputs, *function_type.outputs)]


def _listed(types: Sequence[Attribute]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"
