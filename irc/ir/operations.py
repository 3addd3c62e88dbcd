"""Kinds of ops that those of dialects derive from. Properties stand in the attribute dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    BaseAttr,
    InferenceContext,
    IRDLOperation,
    OperandDef,
    OptOperandDef,
    ParsePropInAttrDict,
    ResultDef,
    VarOperandDef,
    VarResultDef,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from irc.ir.dtypes import element_of
from irc.ir.locations import set_location
from irc.ir.properties import attribute_of


class BuiltOp(IRDLOperation):
    """An op that is built of its operands and properties in the order in which they are defined, those of bases first,
    of the types of those results whose types do not follow from the definition, and of a location:
    `LoadOp(pointer, array, index, offset, count=4)`.

    Each may be given by its name. A property is a plain Python value (`attribute_of`); a unit attribute is True or
    False. What is optional may be left out, or None.
    """

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, *values: object, regions: Sequence[Region | Sequence[Region]] = (), **named: object) -> None:
        """TypeError where a value is of nothing that the op has."""
        builder = _builder(type(self))
        given: dict[str, Any] = {**dict(zip(builder.order, values, strict=False)), **named}
        if len(given) < len(values) + len(named) or not given.keys() <= builder.names:
            raise TypeError(f"{self.name} is built of {', '.join(builder.order)}")
        super().__init__(
            operands=[given.get(name, default) for name, default in builder.operands.items()],
            properties={of.name: of.attribute(given[name]) for name in given if (of := builder.properties.get(name))},
            result_types=[builder.type_of(name, given) for name in builder.results],
            regions=regions,
        )
        set_location(self, given.get(LOCATION))


LOCATION = "location"


@dataclass(frozen=True)
class _Property:
    """A property by its name in the dictionary; a unit attribute is there or not."""

    name: str
    is_unit: bool

    def attribute(self, value: object) -> Attribute | None:
        if self.is_unit and isinstance(value, bool):
            return UnitAttr() if value else None
        return None if value is None else attribute_of(value)


@dataclass(frozen=True)
class _Builder:
    """How an op is built. order: of the values that are given without names. operands: in the op's order, with what
    they are when they are left out. properties: by how the op calls them. results: of each its type, or the operand
    that has it, or None where it is given."""

    order: tuple[str, ...]
    operands: Mapping[str, tuple[()] | None]
    properties: Mapping[str, _Property]
    results: Mapping[str, Attribute | str | None]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.order)

    def type_of(self, result: str, given: Mapping[str, Any]) -> Any:
        """The type of a result, or those of a result of any number."""
        found = self.results[result]
        if isinstance(found, Attribute):
            return found
        return given[result] if found is None else SSAValue.get(given[found]).type


@cache
def _builder(op: type[IRDLOperation]) -> _Builder:
    definition = op.get_irdl_definition()
    operands = dict(definition.operands)
    properties = {
        accessor: _Property(name, definition.properties[name].constr == BaseAttr(UnitAttr))
        for accessor, (name, kind) in definition.accessor_names.items()
        if kind == "property"
    }
    results = {name: _type_of(result, operands) for name, result in definition.results}
    names = dict.fromkeys(name for base in reversed(op.__mro__) for name in vars(base))
    order = [name for name in names if name in operands or name in properties]
    given = [name for name, type in results.items() if type is None]
    missing = {
        name: () if isinstance(each, VarOperandDef) and not isinstance(each, OptOperandDef) else None
        for name, each in operands.items()
    }
    return _Builder((*order, *given, LOCATION), missing, properties, results)


def _type_of(result: ResultDef, operands: Mapping[str, OperandDef]) -> Attribute | str | None:
    """The type of a result that has but one, or the operand that is constrained to have the same."""
    if isinstance(result, VarResultDef):
        return None
    if result.constr.can_infer(set(), length_known=True):
        return result.constr.infer(InferenceContext(), length=1)[0]
    same = (name for name, operand in operands.items() if operand.constr == result.constr)
    return next(same, None) if result.constr.variables() else None


class PureOp(BuiltOp):
    """An op that gives its results and has no effect: it is removed where they are not used, and equal ones merge."""

    traits = traits_def(Pure())


class EffectOp(BuiltOp):
    """An op that reads and writes memory or orders accesses: it is neither removed, merged nor moved over another."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


class Reach(NamedTuple):
    """What code may reach of an array: its element type, the number of its first element, and of the one behind its
    last."""

    element: Attribute
    first: int
    end: int


class Launched(NamedTuple):
    """An array of a launch: its type, and whether it lies by itself. Else it may be a part of a larger one."""

    type: TensorType
    is_alone: bool


class CodeOp(BuiltOp):
    """An op that is the code of a launch: a name, arguments, properties, a body."""

    PROPERTIES: ClassVar[tuple[str, ...]]
    """In the order in which they are printed."""
    REQUIRED: ClassVar[tuple[str, ...]]
    """Those that there have to be."""

    sym_name = prop_def(StringAttr)
    body = region_def("single_block")

    @property
    def result_count(self) -> int:
        """How many of the arrays are results, the last ones."""
        raise NotImplementedError

    @property
    def arrays(self) -> Sequence[Reach]:
        """What it reaches of each array of a launch."""
        raise NotImplementedError

    def verify_launch(self, inputs: Sequence[Launched], outputs: Sequence[Launched]) -> None:
        """VerifyException where arrays are not what a launch has to have: as many, with the memory that is reached.
        Integers may have signs there."""
        arrays, results = self.arrays, self.result_count
        if not 0 <= results <= len(arrays):
            return  # what its own verifier says
        for what, found, expected in (
            ("operand", len(inputs), len(arrays) - results),
            ("result", len(outputs), results),
        ):
            if found != expected:
                raise VerifyException(f"@{self.sym_name.data} has {expected} {what}s, found {found}")
        for at, ((type, is_alone), reach) in enumerate(zip((*inputs, *outputs), arrays, strict=True)):
            what = f"operand {at}" if at < len(inputs) else f"result {at - len(inputs)}"
            element: Attribute = type.element_type
            if element_of(element).size != element_of(reach.element).size:
                raise VerifyException(f"@{self.sym_name.data} takes {reach.element} as {what}, found {type}")
            if reach.first < 0 or (is_alone and reach.end > prod(type.get_shape())):
                raise VerifyException(
                    f"@{self.sym_name.data} reaches elements {reach.first} to {reach.end - 1} of {what}, found {type}"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, lambda arg: printer.print_block_argument(arg))
        properties = {name: self.properties[name] for name in self.PROPERTIES if name in self.properties}
        printer.print_op_attributes({**properties, **self.attributes})
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        attributes = parser.parse_optional_attr_dict()
        properties = {key: attributes.pop(key) for key in cls.PROPERTIES if key in attributes}
        if missing := [key for key in cls.REQUIRED if key not in properties]:
            parser.raise_error(f"expected `{missing[0]}` of the {cls.name}")
        region = parser.parse_region(args)
        if not region.blocks:
            region.add_block(Block(arg_types=[a.type for a in args]))
        return cls.create(properties={"sym_name": name, **properties}, attributes=attributes, regions=[region])
