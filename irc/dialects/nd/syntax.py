"""The assembly format that all `nd` ops share, and number literals in MLIR's spelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, OptionalDef, VarResultDef
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer


def float_text(value: float) -> str:
    """A literal that MLIR's lexer reads back as the same float64: `1.0e-05`, `inf`, `-inf`, `nan`."""
    text = repr(float(value))
    mantissa, exponent, power = text.partition("e")
    if not exponent or "." in mantissa:
        return text
    return f"{mantissa}.0e{power}"


def parse_number(parser: AttrParser) -> int | float | bool:
    """An integer, a float (also `inf`, `-inf`, `nan`), or `true` or `false`."""
    value = parse_optional_number(parser)
    if value is None:
        parser.raise_error("expected a number, true or false")
    return value


def parse_optional_number(parser: AttrParser) -> int | float | bool | None:
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    if (word := parser.parse_optional_keyword_in(("inf", "nan"))) is not None:
        return float(word)
    position = parser.pos
    if parser.parse_optional_punctuation("-"):
        if parser.parse_optional_keyword("inf") is not None:
            return float("-inf")
        number = parser.parse_optional_number()
        if number is None:
            parser.raise_error("expected a number after '-'", position, parser.pos)
        return -number
    return parser.parse_optional_number()


# Attributes


def _print_value(attribute: Attribute, printer: Printer) -> None:
    match attribute:
        case DenseArrayBase() if attribute.elt_type == i64:
            values = cast(DenseArrayBase[IntegerType], attribute).get_values()
            printer.print_string(str(list(values)))
        case IntegerAttr() if attribute.type == i1:
            printer.print_string("true" if attribute.value.data else "false")
        case IntegerAttr() if attribute.type == i64:
            printer.print_string(str(attribute.value.data))
        case FloatAttr() if isinstance(attribute.type, Float64Type):
            printer.print_string(float_text(attribute.value.data))
        case _:
            printer.print_attribute(attribute)


def _parse_value(parser: Parser) -> Attribute:
    """A property's value, in the short spelling: `[1, 0]`, `3`, `3 : index`, `1.0`, `true`, `"f32"`."""
    if parser.parse_optional_punctuation("["):
        return DenseArrayBase.from_list(i64, _parse_ints_after_bracket(parser))
    if (text := parser.parse_optional_str_literal()) is not None:
        return StringAttr(text)
    number = parse_optional_number(parser)
    match number:
        case None:
            return parser.parse_attribute()
        case bool():
            return IntegerAttr(int(number), i1)
        case int() if parser.parse_optional_punctuation(":"):
            parser.parse_keyword("index")
            return IntegerAttr(_in_i64(parser, number), IndexType())
        case int():
            return IntegerAttr(_in_i64(parser, number), i64)
        case float():
            return FloatAttr(number, Float64Type())


def _parse_ints_after_bracket(parser: Parser) -> list[int]:
    values: list[int] = []
    while not parser.parse_optional_punctuation("]"):
        if values:
            parser.parse_punctuation(",")
        values.append(_in_i64(parser, parser.parse_integer(allow_boolean=False)))
    return values


def _in_i64(parser: Parser, value: int) -> int:
    if not -(2**63) <= value < 2**63:
        parser.raise_error(f"expected a 64-bit integer, found {value}")
    return value


def print_dictionary(op: IRDLOperation, printer: Printer, skip: Sequence[str] = ()) -> None:
    """` {axes = [1], declared = bf16}`: properties that differ from their defaults, then attributes; nothing if there
    are none."""
    definitions = op.get_irdl_definition().properties
    entries = {
        name: value
        for name, value in op.properties.items()
        if name not in skip and (name not in definitions or definitions[name].default_value != value)
    }
    if not entries and not op.attributes:
        return
    printer.print_string(" {")
    for i, (name, value) in enumerate((*entries.items(), *op.attributes.items())):
        printer.print_string((", " if i else "") + name)
        if isinstance(value, UnitAttr):
            continue
        printer.print_string(" = ")
        if name in entries:
            _print_value(value, printer)
        else:
            printer.print_attribute(value)
    printer.print_string("}")


def parse_dictionary(cls: type[IRDLOperation], parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """What `print_dictionary` printed: (properties, attributes). Names that the op defines are properties."""
    definition = cls.get_irdl_definition()
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}
    if not parser.parse_optional_punctuation("{"):
        return properties, attributes
    while not parser.parse_optional_punctuation("}"):
        if properties or attributes:
            parser.parse_punctuation(",")
        name = parser.parse_identifier_or_str_literal()
        if name in properties or name in attributes:
            parser.raise_error(f"{cls.name} has {name} twice")
        has_value = parser.parse_optional_punctuation("=") is not None
        if name in definition.properties and has_value:
            properties[name] = _parse_value(parser)
        else:
            attributes[name] = parser.parse_attribute() if has_value else UnitAttr()
    return properties, attributes


# Operations


def print_operation_tail(op: IRDLOperation, printer: Printer) -> None:
    """` %a, %b {properties} : types`."""
    if op.operands:
        printer.print_string(" ")
        printer.print_list(op.operands, printer.print_ssa_value)
    print_dictionary(op, printer)
    printer.print_string(" : ")
    _print_types([v.type for v in op.operands], [v.type for v in op.results], printer)


def _print_types(operands: list[Attribute], results: list[Attribute], printer: Printer) -> None:
    if _are_one([*results, *operands]):
        printer.print_attribute(results[0])
        return
    if _are_one(operands):
        printer.print_attribute(operands[0])
    else:
        _print_type_list(operands, printer)
    printer.print_string(" -> ")
    if len(results) == 1:
        printer.print_attribute(results[0])
    else:
        _print_type_list(results, printer)


def _are_one(types: list[Attribute]) -> bool:
    """Whether the types are equal. A set would need hashes, which take longer."""
    return bool(types) and all(type is types[0] or type == types[0] for type in types)


def _print_type_list(types: list[Attribute], printer: Printer) -> None:
    printer.print_string("(")
    printer.print_list(types, printer.print_attribute)
    printer.print_string(")")


def parse_operation_tail(cls: type[IRDLOperation], parser: Parser) -> Operation:
    """The op whose text after its name is what `print_operation_tail` prints."""
    position = parser.pos
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    properties, attributes = parse_dictionary(cls, parser)
    _check_properties(cls, parser, properties)
    parser.parse_punctuation(":")
    operand_types, result_types = _parse_types(cls, parser, operands or [])
    values = parser.resolve_operands(operands or [], operand_types, position)
    return cls.create(operands=values, result_types=result_types, properties=properties, attributes=attributes)


def _check_properties(cls: type[IRDLOperation], parser: Parser, properties: dict[str, Attribute]) -> None:
    for name, definition in cls.get_irdl_definition().properties.items():
        if name not in properties and definition.default_value is None and not isinstance(definition, OptionalDef):
            parser.raise_error(f"{cls.name} needs the property {name}")


def _parse_types(
    cls: type[IRDLOperation], parser: Parser, operands: list[UnresolvedOperand]
) -> tuple[list[Attribute], list[Attribute]]:
    defined = cls.get_irdl_definition().results
    count = len(operands) if any(isinstance(each, VarResultDef) for _, each in defined) else len(defined)
    listed, first = _parse_type_list(parser)
    if parser.parse_optional_punctuation("->"):
        _, results = _parse_type_list(parser)
        return (first if listed else first * len(operands)), results
    if listed:
        parser.raise_error("expected '->' after the operands' types")
    return first * len(operands), first * count


def _parse_type_list(parser: Parser) -> tuple[bool, list[Attribute]]:
    """(whether it was in parentheses, the types)."""
    if not parser.parse_optional_punctuation("("):
        return False, [parser.parse_type()]
    types: list[Attribute] = []
    while not parser.parse_optional_punctuation(")"):
        if types:
            parser.parse_punctuation(",")
        types.append(parser.parse_type())
    return True, types
