"""The ops of the `kernel` dialect: what runs together.

`kernel.fused` holds the `nd` ops of one launch. Its operands and results are whole arrays, its block arguments stand
for the operands. After `tile-kernels` a `kernel.launch` of a program stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, LocationAttr, SymbolNameConstraint, SymbolRefAttr, TensorType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from irc.dialects.kernel.config import ConfigAttr
from irc.ir.iteration import CONTRACTIONS, Pattern, pattern_of, permutation_of
from irc.ir.operations import BuiltOp, CodeOp, Launched


class Anchor(StrEnum):
    """What a kernel is built around; it decides which tiling the kernel gets."""

    CASCADE = "cascade"
    MATMUL = "matmul"
    REDUCE = "reduce"
    PERMUTE = "permute"
    MAP = "map"


@irdl_attr_definition
class AnchorAttr(EnumAttribute[Anchor], SpacedOpaqueSyntaxAttribute):
    """The anchor of a `kernel.fused`."""

    name = "kernel.anchor"


def is_core(anchor: Anchor, op: Operation) -> bool:
    """Whether the op is one that a kernel with this anchor is built around."""
    match anchor:
        case Anchor.CASCADE | Anchor.MATMUL:
            return pattern_of(op) in CONTRACTIONS
        case Anchor.REDUCE:
            return pattern_of(op) in (Pattern.REDUCE, Pattern.SCAN)
        case Anchor.PERMUTE:
            return permutation_of(op) is not None
        case Anchor.MAP:
            return False


@irdl_op_definition
class YieldOp(BuiltOp):
    """The results of a `kernel.fused`."""

    name = "kernel.yield"
    outputs = var_operand_def(TensorType)
    traits = lazy_traits_def(lambda: (Pure(), IsTerminator(), HasParent(FusedOp)))
    assembly_format = "attr-dict ($outputs^ `:` type($outputs))?"

    def __init__(self, *outputs: SSAValue, location: LocationAttr | None = None):
        super().__init__(outputs, location)


@irdl_op_definition
class FusedOp(BuiltOp):
    """The `nd` ops of one kernel.

    The operands are bound to the block's arguments. Comments in the printed body show the groups of a matmul or a
    reduction: the prologue feeds the core (the anchors, and what lies between two of them), the epilogue is the rest.

        %r = kernel.fused @f_0 matmul config<tile = {m = 128, n = 256, k = 64}> (%a = %x : tensor<8x8xf32>) -> ... {
    """

    name = "kernel.fused"
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    sym_name = opt_prop_def(SymbolNameConstraint())
    anchor = prop_def(AnchorAttr)
    config = opt_prop_def(ConfigAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), Pure())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        anchor: Anchor,
        body: Region,
        *,
        sym_name: str | None = None,
        config: ConfigAttr | None = None,
        location: LocationAttr | None = None,
    ):
        super().__init__(inputs, sym_name, AnchorAttr(anchor), config, result_types, location, regions=[body])

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def yielded(self) -> YieldOp:
        """The terminator."""
        last = self.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def kind(self) -> Anchor:
        """The anchor, as a Python value."""
        return self.anchor.data

    def cores(self) -> list[Operation]:
        """The ops that the kernel is built around, in order. In a cascade or matmul kernel, the products and
        convolutions alone."""
        kind = self.kind
        return [op for op in self.block.ops if is_core(kind, op)]

    def tile_names(self) -> tuple[str, ...]:
        """The names that sizes of the config's tile can have."""
        match self.kind:
            case Anchor.CASCADE:
                return ("m", "k")
            case Anchor.MATMUL:
                return ("m", "n", "k")
            case Anchor.REDUCE:
                joined = {"s" if pattern_of(op) is Pattern.SCAN else "r" for op in self.cores()}
                return ("d", *sorted(joined))
            case Anchor.PERMUTE:
                return ("result", "operand")
            case Anchor.MAP:
                return ("d",)

    def groups(self) -> dict[Operation, str]:
        """`prologue`, `core` or `epilogue` for each op of the body but the yield."""
        ops = [op for op in self.block.ops if not isinstance(op, YieldOp)]
        cores = set(self.cores())
        feeding = _closure(reversed(ops), cores, _users)
        following = _closure(ops, cores, _producers)
        return {op: _group(op in feeding, op in following) for op in ops}

    def verify_(self) -> None:
        if self.body.block.last_op is None or not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the body must end with kernel.yield")
        _verify_types("operand", "block argument", self.inputs, self.block.args)
        _verify_types("result", "yielded value", self.outputs, self.yielded.outputs)
        for op in self.block.ops:
            if not op.name.startswith("nd.") and not isinstance(op, YieldOp):
                raise VerifyException(f"the body holds nd ops, found {op.name}")
        if self.kind is not Anchor.MAP and not self.cores():
            raise VerifyException(
                f"a kernel with the anchor {self.kind.value} needs {_EXPECTED[self.kind]}, found none"
            )
        for op in self.block.ops:
            if self.kind not in (Anchor.CASCADE, Anchor.MATMUL) and is_core(Anchor.MATMUL, op):
                raise VerifyException(f"a kernel with the anchor {self.kind.value} may not hold {op.name}")
        sizes = None if self.config is None else self.config.tile
        if wrong := [name for name in sizes or () if name not in self.tile_names()]:
            names = ", ".join(self.tile_names())
            raise VerifyException(
                f"the tile of a kernel with the anchor {self.kind.value} has sizes of {names}, found {', '.join(wrong)}"
            )

    def print(self, printer: Printer) -> None:
        if self.sym_name is not None:
            printer.print_string(" ")
            printer.print_symbol_name(self.sym_name.data)
        printer.print_string(f" {self.kind.value}")
        if self.config is not None:
            printer.print_string(" config")
            self.config.print_parameter(printer)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                zip(self.block.args, self.inputs, strict=True), lambda pair: _print_binding(printer, *pair)
            )
        printer.print_string(" -> ")
        _print_types(printer, self.outputs)
        printer.print_string(" ")
        self._print_body(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    def _print_body(self, printer: Printer) -> None:
        groups = self.groups() if self.kind in (Anchor.CASCADE, Anchor.MATMUL, Anchor.REDUCE) else {}
        current = None
        with printer.in_braces():
            with printer.indented():
                for op in self.block.ops:
                    group = groups.get(op, current)
                    if group != current:
                        printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
                        printer.print_string(f"// {group}")
                        current = group
                    printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
                    printer.print_op(op)
            printer._print_new_line()  # pyright: ignore[reportPrivateUsage]

    @classmethod
    def parse(cls, parser: Parser) -> FusedOp:
        name = parser.parse_optional_symbol_name()
        anchor = parser.parse_str_enum(Anchor)
        config = None
        if parser.parse_optional_keyword("config") is not None:
            config = ConfigAttr(ConfigAttr.parse_parameter(parser))
        bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_binding(parser))
        parser.parse_punctuation("->")
        types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if types is None:
            types = [parser.parse_type()]
        region = parser.parse_region([argument for argument, _ in bindings])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls([value for _, value in bindings], types, anchor, region, config=config)
        if name is not None:
            op.sym_name = name
        if attributes is not None:
            op.attributes |= attributes.data
        return op


_EXPECTED = {
    Anchor.CASCADE: "a product",
    Anchor.MATMUL: "a product or convolution",
    Anchor.REDUCE: "a reduction or a scan",
    Anchor.PERMUTE: "a permutation",
}


def _closure(
    ops: Iterable[Operation], seeds: set[Operation], neighbors: Callable[[Operation], Iterable[Operation | Block]]
) -> set[Operation]:
    """The seeds and every op that reaches one through neighbors; `ops` lists each op after its neighbors."""
    reached: set[Operation | Block] = set()
    for op in ops:
        if op in seeds or any(neighbor in reached for neighbor in neighbors(op)):
            reached.add(op)
    return {op for op in reached if isinstance(op, Operation)}


def _users(op: Operation) -> Iterable[Operation]:
    return (use.operation for result in op.results for use in result.uses)


def _producers(op: Operation) -> Iterable[Operation | Block]:
    return (operand.owner for operand in op.operands)


def _group(feeding: bool, following: bool) -> str:
    if not feeding:
        return "epilogue"
    return "core" if following else "prologue"


def _verify_types(outer: str, inner: str, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> None:
    if len(left) != len(right):
        raise VerifyException(f"expected as many {inner}s as {outer}s, found {len(right)} and {len(left)}")
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        if a.type != b.type:
            raise VerifyException(f"{inner} {i} has the type {b.type}, its {outer} has {a.type}")


def _print_binding(printer: Printer, argument: SSAValue, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(argument.type)


def _parse_binding(parser: Parser) -> tuple[Parser.Argument, SSAValue]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    type = parser.parse_type()
    return argument.resolve(type), parser.resolve_operand(value, type)


def _print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    if len(values) == 1:
        printer.print_attribute(values[0].type)
        return
    with printer.in_parens():
        printer.print_list([value.type for value in values], printer.print_attribute)


class LaunchSymbolUser(SymbolUserOpInterface):
    """The callee of a launch is a symbol of the module around it, which its arrays fit."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, LaunchOp)
        code = SymbolTable.lookup_symbol(op, op.callee)
        if code is None:
            raise VerifyException(f"no program is named {op.callee}")
        if isinstance(code, CodeOp):
            code.verify_launch(*([_launched(value) for value in values] for values in (op.inputs, op.outputs)))


def _launched(value: SSAValue) -> Launched:
    """Alone are arrays that launches make and read, and arguments and results of the function: other ops between them
    are views, and concats whose operands lie in their result."""
    assert isinstance(value.type, TensorType)
    around = [use.operation for use in value.uses]
    if isinstance(value.owner, Operation):
        around.append(value.owner)
    is_alone = all(isinstance(op, LaunchOp) or op.has_trait(IsTerminator) for op in around)
    return Launched(value.type, is_alone)


@irdl_op_definition
class LaunchOp(BuiltOp):
    """The launch of a program that `tile-kernels` made: its operands, then its results, are the program's views."""

    name = "kernel.launch"
    callee = prop_def(FlatSymbolRefAttrConstr)
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    traits = traits_def(Pure(), LaunchSymbolUser())
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        location: LocationAttr | None = None,
    ):
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(symbol, inputs, result_types, location)

    @property
    def program_name(self) -> str:
        """What it launches."""
        return self.callee.root_reference.data
