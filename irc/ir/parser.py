"""Parsing of IR in MLIR syntax, with a location for every op."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.lexer import Span as Characters
from xdsl.utils.mlir_lexer import MLIRLexer

from irc.ir.verification import check_order
from irc.support.diagnostics import IrcError, Span, register_source

DEEPEST_NESTING = 100
"""Regions inside one another that are accepted: xDSL's parser and printer recurse."""


_UNDEFINED = "values used but not defined"
"""What xDSL says at the end of a module with such."""


class IRLexer(MLIRLexer):
    """xDSL's lexer; a string that does not end is found in linear time, where the base class takes exponential time."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class IRParser(Parser):
    """xDSL's parser; an op without an explicit `loc(...)` gets the place of its name in the text.

    `line_offset` is the number of lines before the text in its file. Nesting deeper than `DEEPEST_NESTING` is a parse
    error, where the base class runs out of stack.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>", line_offset: int = 0):
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(IRLexer(Input(text, name)))
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._depth = 0
        self._op_position = 0
        self._early_uses: dict[str, Characters] = {}
        """Where each value is used first that was not defined before."""

    @cached_property
    def _line_starts(self) -> list[int]:
        text = self.lexer.input.content
        starts = [0]
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        return starts

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """xDSL's; values that nothing defines are an error where the first of them is used."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if not self.forward_ssa_references or not error.msg.startswith(_UNDEFINED):
                raise
            names = ", ".join(f"%{name}" for name in self.forward_ssa_references)
            span = self._early_uses.get(next(iter(self.forward_ssa_references)), error.span)
            raise ParseError(span, f"{_UNDEFINED}: {names}") from None

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        operand = super().parse_optional_unresolved_operand()
        if operand is not None and operand.operand_name not in self.ssa_values:
            self._early_uses.setdefault(operand.operand_name, operand.span)
        return operand

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        if self._depth > DEEPEST_NESTING:
            self.raise_error(f"expected at most {DEEPEST_NESTING} regions inside one another")
        self._depth += 1
        name_position = self._name_position(start)
        self._op_position = name_position
        op = super().parse_operation()
        self._depth -= 1
        if isinstance(op.location, UnknownLoc):
            op.location = self._location(name_position)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """xDSL's lookup; an unknown name is reported where it stands, with names that are like it."""
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            return op_type
        close = get_close_matches(name, [op.name for op in self.ctx.loaded_ops], n=3)
        suggestion = f": did you mean {' or '.join(close)}?" if close else ""
        start = self._op_position
        self.raise_error(f"unknown op {name}{suggestion}", start, start + len(name))

    def _name_position(self, start: int) -> int:
        """Where the name of the op is whose text begins at `start`: after the results and the `=`."""
        text = self.lexer.input.content
        if text[start] != "%":
            return start
        position = text.find("=", start) + 1
        while position < len(text) and text[position].isspace():
            position += 1
        return position

    def place(self) -> FileLineColLoc:
        """Where the parser is in the text."""
        return self._location(self._current_token.span.start)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line + self._line_offset), IntAttr(column))


def parse_ir(
    ctx: Context,
    text: str,
    name: str = "<string>",
    *,
    implicit_module: bool = True,
    line_offset: int = 0,
    register: bool = True,
    parser_of: Callable[[Context, str, str, int], IRParser] | None = None,
) -> ModuleOp:
    """Parses a module in MLIR syntax; a syntax error, or a value that is used before it is defined, is an `IrcError`
    at its place.

    With `register` the text can be quoted by diagnostics under `name`; leave it out for a piece of a longer source.
    `parser_of` makes the parser, where it is to be one that sees more.
    """
    if register:
        register_source(name, text)
    parser: IRParser | None = None
    try:
        parser = (parser_of or IRParser)(ctx, text, name, line_offset)
        module = parser.parse_module(implicit_module)
        check_order(module)
        return module
    except ParseError as error:
        raise parse_error(error, line_offset) from error
    except RecursionError as error:
        raise IrcError("the text is nested too deeply", None if parser is None else parser.place()) from error
    except (IrcError, MemoryError):
        raise
    except Exception as error:
        # Attributes and ops check themselves when they are built, and xDSL lets some of their exceptions through.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise IrcError(f"invalid IR: {reason}", None if parser is None else parser.place()) from error


_MESSAGES = {
    "Could not parse entire input!": "expected an op",
    "in block definition": "expected an op, or `}` at the end of a region",
}
"""What says more than some messages of xDSL's do."""


def parse_error(error: ParseError, line_offset: int = 0) -> IrcError:
    """xDSL's parse error as a diagnostic; `line_offset` is the number of lines before the text in its file."""
    where = error.span.get_location()
    line_end = error.span.input.get_end_of_line(error.span.start)
    width = max(min(error.span.end, line_end) - error.span.start, 1)
    span = Span(where.file, where.line + line_offset, where.col, where.col + width)
    message = _MESSAGES.get(error.msg.strip(), error.msg.strip() or "syntax error")
    hint = None
    if isinstance(error, MultipleSpansParseError) and error.refs:
        first = error.refs[0][0].get_location()
        hint = f"{(error.ref_text or 'see').rstrip(': ')} at {first.file}:{first.line + line_offset}:{first.col}"
    return IrcError(message, span, hint)


__all__ = ["DEEPEST_NESTING", "IRParser", "parse_error", "parse_ir"]
