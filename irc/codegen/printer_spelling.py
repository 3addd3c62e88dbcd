"""Printing of ops by their rows (`irc/dialects/cuda/spelling.py`): a line or an expression of C++, an asm statement, or
the call of a function that is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from re import Match
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation

from irc.codegen.prelude import snippets
from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.snippet import Snippet, placeholders
from irc.dialects.cuda import SPELLINGS, TensorMapType
from irc.dialects.cuda.spelling import PLACE, RESULT_TYPE

Argument: TypeAlias = SSAValue | int
Operand: TypeAlias = Argument | Sequence[Argument]
"""What stands in a place of a text: a register, or a vector of them."""


@prints(*SPELLINGS)
def spelled(p: KernelPrinter, op: Operation) -> None:
    assert isinstance(op, IRDLOperation)
    row = SPELLINGS[type(op)]
    text = row.text_of(op)
    if row.is_function(op):
        operands = _operands(op, text)
        function = _function(row.function_of(op), text, operands)
        p.call(function, *(each for name in operands for _, each in _parameters(name, operands[name])))
        return
    text = PLACE.sub(lambda place: _in_place(p, op, place[1]), text)
    if row.is_assembly:
        p.line(f'asm volatile({_literal(text)} ::: "memory");')
        return
    name = text.partition("(")[0]
    if name in snippets():
        p.use(name)
    if op.results:
        p.define(op.results[0], text)
    else:
        p.line(f"{text};")


def _number(op: IRDLOperation, name: str) -> int | None:
    number = op.properties.get(name)
    return number.value.data if isinstance(number, IntegerAttr) else None


def _in_place(p: KernelPrinter, op: IRDLOperation, name: str) -> str:
    if name == RESULT_TYPE:
        return p.type(op.results[0].type)
    number = _number(op, name)
    return p.value(getattr(op, name)) if number is None else str(number)


def _operands(op: IRDLOperation, text: str) -> dict[str, Operand]:
    """What an instruction takes by name: its operands, and the numbers that its text has."""
    given: dict[str, Operand] = {}
    for name, _ in op.get_irdl_definition().operands:
        value: Operand | None = getattr(op, name)
        if value is not None:
            given[name] = value
    for name, _ in PLACE.findall(text):
        number = _number(op, name)
        if number is not None:
            given[name] = number
    return given


def _parameters(name: str, operand: Operand) -> list[tuple[str, Argument]]:
    if isinstance(operand, SSAValue | int):
        return [(name, operand)]
    return [(f"{name}{i}", each) for i, each in enumerate(operand)]


def _function(name: str, text: str, operands: Mapping[str, Operand]) -> Snippet:
    """An instruction as a function of what it takes."""
    inputs: list[str] = []

    def place(match: Match[str]) -> str:
        operand = operands[match[1]]
        taken = [_input(name, each, match[2]) for name, each in reversed(_parameters(match[1], operand))]
        inputs.extend(taken)
        first = len(inputs) - len(taken)
        return f"%{first}" if isinstance(operand, SSAValue | int) else placeholders(first, len(taken))

    literal = _literal(PLACE.sub(place, text))
    declared = (f"{_type(each)} {name}" for key in operands for name, each in _parameters(key, operands[key]))
    head = f"DEVICE void {name}({', '.join(declared)})"
    return Snippet(name, f'{head} {{\n  asm volatile({literal}\n    :: {", ".join(inputs)} : "memory");\n}}\n')


def _type(argument: Argument) -> str:
    return "const TensorMap&" if _is_map(argument) else "unsigned"


def _input(name: str, argument: Argument, constraint: str | None) -> str:
    if _is_map(argument):
        return f'"l"(&{name})'
    return f'"h"((unsigned short){name})' if constraint == "h" else f'"r"({name})'


def _is_map(argument: Argument) -> bool:
    return isinstance(argument, SSAValue) and isinstance(argument.type, TensorMapType)


def _literal(text: str) -> str:
    """PTX as a literal of C++: an instruction, or several in braces."""
    end = "" if text.startswith("{") else ";"
    return '"' + text.replace("\n", "\\n") + end + '"'
