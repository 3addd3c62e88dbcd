"""What is known of IR in MLIR's syntax, of any level."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span as Characters

from irc.driver.program import new_context
from irc.ir.parser import IRParser, parse_ir
from irc.ir.verification import verify
from irc.support.diagnostics import IrcError, labels
from irc_tools.lsp.dumps import maker_of
from irc_tools.lsp.model import Analysis, Lines, Range, Symbol, Target, Use, code
from irc_tools.lsp.places import fault

_SYMBOL = re.compile(r'@(?:[A-Za-z_$][\w$.-]*|"[^"\n]*")')
_DECLARED = re.compile(r"^\s*(?:%\S+ = )?([a-z_]\w*(?:\.\w+)+)\s+(?:(?:private|public)\s+)?(@[\w$.-]+)", re.MULTILINE)
DECLARING = ("func.func", "tile.program", "cuda.kernel", "cpu.kernel", "host.plan")
"""Ops that declare a symbol, where they were not read to their end; of others it is known then."""

_ALIAS = re.compile(r"^([#!][A-Za-z_]\w*)\s*=\s*(.*)$", re.MULTILINE)
_ALIASED = re.compile(r"[#!][A-Za-z_]\w*(?![\w.])")


class Recorder(IRParser):
    """A parser that notes where values and ops stand in the text, as far as it comes."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>", line_offset: int = 0):
        super().__init__(ctx, text, name, line_offset)
        self.ops: list[tuple[Operation, int, int]] = []
        """Each with where its name begins and where it ends."""
        self.defined: list[tuple[Characters, Sequence[SSAValue]]] = []
        self.used: list[tuple[Characters, int, Sequence[SSAValue] | None]] = []
        """Each with its number among the results, and the values of that name, if they stand before."""

    def parse_operation(self) -> Operation:
        name = self._name_position(self._current_token.span.start)
        op = super().parse_operation()
        text = self.lexer.input.content[: self._current_token.span.start].rstrip()
        self.ops.append((op, name, len(text)))
        return op

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        operand = super().parse_optional_unresolved_operand()
        if operand is not None:
            self.used.append((operand.span, operand.index, self.ssa_values.get(operand.operand_name)))
        return operand

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Characters) -> None:
        super()._register_ssa_definition(name, values, span)
        self.defined.append((span, values))


def analyze_mlir(text: str, name: str) -> Analysis:
    """All that is known of IR, which may be half-written. name: of the file, beside which dumps may lie."""
    recorders: list[Recorder] = []

    def recorder(ctx: Context, text: str, name: str, line_offset: int) -> IRParser:
        recorders.append(Recorder(ctx, text, name, line_offset))
        return recorders[0]

    lines = Lines(text)
    failure: IrcError | None = None
    try:
        verify(parse_ir(new_context(), text, name, parser_of=recorder))
    except IrcError as error:
        failure = error
    found = _Text(text, name, lines, recorders[0] if recorders else None)
    analysis = Analysis(
        uses=[*found.values(), *found.ops(), *found.symbols(), *found.aliases()], symbols=found.outline()
    )
    if failure is not None:
        analysis.faults.append(fault(failure, name, lines, found.place_of(failure)))
    return analysis


class _Text:
    """The names of a text."""

    def __init__(self, text: str, name: str, lines: Lines, recorder: Recorder | None):
        self._text, self._name, self._lines = text, name, lines
        self._ops = [] if recorder is None else recorder.ops
        self._defined = [] if recorder is None else recorder.defined
        self._used = [] if recorder is None else recorder.used
        self._ends = {
            start: end for op, start, end in self._ops if isinstance(op.properties.get("sym_name"), StringAttr)
        }
        self._declared = {
            found[2]: found
            for found in reversed([*_DECLARED.finditer(text)])
            if found[1] in DECLARING or found.start(1) in self._ends
        }

    def place_of(self, error: IrcError) -> Range | None:
        """Where the op is whose location is another file's."""
        found = next(((op, start) for op, start, _ in self._ops if op.location == error.location), None)
        return None if found is None else self._lines.range(found[1], found[1] + len(found[0].name))

    # Values

    def values(self) -> list[Use]:
        places = {value: span for span, values in self._defined for value in values}
        uses = [self._value(span, values, 0, span) for span, values in self._defined]
        for span, index, values in self._used:
            if values is None:
                values = next(
                    (each for at, each in self._defined if at.text == span.text and at.start > span.start), None
                )
            if values is not None and index < len(values):
                uses.append(self._value(span, values[index : index + 1], index, places.get(values[index])))
        return uses

    def _value(self, span: Characters, values: Sequence[SSAValue], index: int, place: Characters | None) -> Use:
        target = None if place is None else Target(self._lines.range(place.start, place.end))
        hover = partial(self._hover_of_values, span.text, values, index)
        return Use(self._lines.range(span.start, span.end), hover, target)

    def _hover_of_values(self, name: str, values: Sequence[SSAValue], index: int) -> str:
        shown = [
            code(
                "mlir",
                "\n".join(f"{name}{f'#{index + n}' if index + n else ''}: {v.type}" for n, v in enumerate(values)),
            )
        ]
        shown += [detail for value in values[:1] for detail in _details(value.type)]
        owner = values[0].owner if values else None
        if isinstance(owner, Operation):
            shown.append(self._origin(owner) or f"by `{owner.name}`")
        elif isinstance(owner, Block) and (parent := owner.parent_op()) is not None:
            shown.append(f"argument of a block of `{parent.name}`")
        return "\n\n".join(filter(None, shown))

    # Ops

    def ops(self) -> list[Use]:
        return [
            Use(self._lines.range(start, start + len(op.name)), partial(self._hover_of_op, op), self._source(op))
            for op, start, _ in self._ops
            if self._text.startswith((op.name, f'"{op.name}"'), start)
        ]

    def _hover_of_op(self, op: Operation) -> str:
        document = inspect.getdoc(type(op)) or ""
        types = ", ".join(str(result.type) for result in op.results)
        return "\n\n".join(
            filter(
                None,
                [
                    code("mlir", f"{op.name} -> {types}" if types else op.name),
                    document.partition("\n\n")[0],
                    self._origin(op),
                ],
            )
        )

    def _origin(self, op: Operation) -> str:
        """Which place of the program an op comes from, and which pass made it, where that is known."""
        places = [label.span for label in labels(op.location) if label.span.file != self._name]
        if not places:
            return ""
        maker = maker_of(op, Path(self._name))
        return f"by `{op.name}` of {places[0]}" + (f", made by `{maker}`" if maker else "")

    def _source(self, op: Operation) -> Target | None:
        """The place of the program that an op comes from, if its file is there."""
        span = next((label.span for label in labels(op.location) if label.span.file != self._name), None)
        if span is None:
            return None
        found = next((path for path in (Path(span.file), Path(self._name).parent / span.file) if path.is_file()), None)
        where = Range(span.line, span.column, span.line, span.column)
        return None if found is None else Target(where, str(found.resolve()))

    # Symbols and aliases

    def symbols(self) -> list[Use]:
        uses: list[Use] = []
        for found in _SYMBOL.finditer(self._text):
            if (declared := self._declared.get(found[0])) is not None:
                target = Target(self._lines.range(declared.start(2), declared.end(2)))
                uses.append(
                    Use(self._lines.range(found.start(), found.end()), partial(self._line, declared.start(1)), target)
                )
        return uses

    def aliases(self) -> list[Use]:
        declared = {found[1]: found for found in _ALIAS.finditer(self._text)}
        return [
            Use(
                self._lines.range(found.start(), found.end()),
                partial(self._line, alias.start()),
                Target(self._lines.range(alias.start(1), alias.end(1))),
            )
            for found in _ALIASED.finditer(self._text)
            if (alias := declared.get(found[0])) is not None
        ]

    def _line(self, start: int) -> str:
        return code("mlir", self._text[start:].partition("\n")[0].rstrip(" {"))

    def outline(self) -> list[Symbol]:
        """Functions, programs, kernels and plans: where one was not read to its end, it ends with its first line."""
        symbols: list[Symbol] = []
        for found in sorted(self._declared.values(), key=lambda found: found.start()):
            line_end = self._text.find("\n", found.start(1))
            end = self._ends.get(found.start(1), line_end if line_end >= 0 else len(self._text))
            name_range = self._lines.range(found.start(2), found.end(2))
            whole = self._lines.range(found.start(1), max(end, found.end(2)))
            symbols.append(Symbol(found[2], "function", whole, name_range, found[1]))
        return symbols


def _details(type: Attribute) -> list[str]:
    """Shape, element and layout of a type, and of what is in it."""
    if not isinstance(type, TensorType):
        return []
    shape = " x ".join(map(str, type.get_shape())) or "scalar"
    found = [f"shape {shape}, elements {type.element_type}"]  # pyright: ignore[reportUnknownMemberType]
    if str(type.encoding) != "none":
        found.append(f"layout `{type.encoding}`")
    return found
