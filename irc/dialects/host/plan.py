"""Plans."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, IntegerAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from irc.dialects.host.checks import check_steps, kernels_beside
from irc.dialects.host.memory import BufferType, bytes_of
from irc.ir.operations import BuiltOp
from irc.ir.properties import pairs_of


@irdl_op_definition
class PlanOp(BuiltOp):
    """`host.plan @f (%x, %out) : (tensor<8xf32>) -> tensor<8xf32> streams n {...}`: everything that the host does to
    run a function.

    The arguments are buffers: of the function's arguments, then of its results, of the sizes that `function_type`
    gives. `donated` has pairs of numbers: the result, and the argument whose memory it is written to
    instead of its own.
    """

    name = "host.plan"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    streams = prop_def(IntegerAttr)
    donated = opt_prop_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, function_type: FunctionType, *, streams: int = 1, body: Region | None = None) -> None:
        """Without a body, a new one with an argument for each argument and result of the function."""
        body = Region(Block(arg_types=_buffers_of(function_type))) if body is None else body
        super().__init__(name, function_type, streams, regions=[body])

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
        return dict(pairs_of(self.donated))

    def verify_(self) -> None:
        expected, found = _buffers_of(self.function_type), list(self.body.block.arg_types)
        if expected != found:
            raise VerifyException(f"expected plan arguments {_listed(expected)}, found {_listed(found)}")
        if self.streams.value.data < 1:
            raise VerifyException(f"expected one stream or more, found {self.streams.value.data}")
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("expected host.plan to end with host.return")
        check_steps(self.body.block, self.streams.value.data, kernels_beside(self))

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
            own = {name: value for name, value in attributes.data.items() if name == "donated"}
            plan.properties |= own
            plan.attributes |= {name: value for name, value in attributes.data.items() if name not in own}
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
class ReturnOp(BuiltOp):
    """The end of a plan."""

    name = "host.return"
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict"


def _buffers_of(function_type: FunctionType) -> list[Attribute]:
    return [BufferType(bytes_of(t)) for t in (*function_type.inputs, *function_type.outputs)]


def _listed(types: Sequence[Attribute]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"
