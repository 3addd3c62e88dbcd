"""Kinds of ops that those of dialects derive from. Properties stand in the attribute dictionary."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure


class PureOp(IRDLOperation):
    """An op that gives its results and has no effect: it is removed where they are not used, and equal ones merge."""

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)


class EffectOp(IRDLOperation):
    """An op that reads and writes memory or orders accesses: it is neither removed, merged nor moved over another."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)


class CodeOp(IRDLOperation):
    """An op that is the code of a launch: a name, arguments, properties, a body."""

    PROPERTIES: ClassVar[tuple[str, ...]]
    """In the order in which they are printed."""
    REQUIRED: ClassVar[tuple[str, ...]]
    """Those that there have to be."""

    sym_name = prop_def(StringAttr)
    body = region_def("single_block")

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
