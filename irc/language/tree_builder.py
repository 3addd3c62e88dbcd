"""The callbacks of the grammar's rules: each takes the values of a rule's parts and returns a node of `syntax`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from lark import Token

from irc.language.syntax import (
    Apply,
    Assignment,
    Binding,
    Call,
    Chain,
    Comparison,
    DimBinding,
    Donation,
    Ellipsis_,
    Expression,
    Function,
    Indexed,
    Keyword,
    ListOf,
    Literal,
    Name,
    Parameter,
    Power,
    Prefix,
    Program,
    RangeBinding,
    Return,
    Slice,
    SourceRange,
    TypeNode,
    join,
    span_of,
)
from irc.support.diagnostics import IrcError, Span

Parts = list[Any]


def place_of(token: Token) -> SourceRange:
    line, column = token.line or 1, token.column or 1
    return line, column, line, column + len(token)


class TreeBuilder:
    """Builds the tree of one text. A method is named after a rule (or an alias) of the grammar."""

    def __init__(self, file: str, max_nesting: int, too_deep: Callable[[Span], IrcError]):
        self.file = file
        self.max_nesting = max_nesting
        self.too_deep = too_deep

    def _depth(self, place: SourceRange, parts: list[Expression]) -> int:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > self.max_nesting:
            raise self.too_deep(span_of(place, self.file))
        return depth

    def _parts(self, parts: Parts) -> Parts:
        """A list of what its rule's parts gave."""
        return parts

    arguments = dim_declaration = parameters = several_results = single_result = sizes = statements = _parts

    # Program

    def start(self, parts: Parts) -> Program:
        items: list[DimBinding | RangeBinding | Function] = []
        for part in parts:
            items.extend(part if isinstance(part, list) else [part])
        return Program(items)

    def fixed(self, parts: Parts) -> DimBinding:
        return DimBinding(place_of(parts[0]), str(parts[0]), parts[1])

    def range(self, parts: Parts) -> RangeBinding:
        name, least, most, multiple = parts
        return RangeBinding(place_of(name), str(name), least, most, multiple)

    def function(self, parts: Parts) -> Function:
        name, parameters, results, body, end = parts
        place = join(place_of(name), place_of(end))
        return Function(place, self._name(name), parameters or [], results, body, place_of(end))

    def parameter(self, parts: Parts) -> Parameter:
        donation, name, type = parts
        return Parameter(place_of(name), str(name), type, donation)

    def donation(self, parts: Parts) -> Donation:
        word, *result = parts
        number, place = None, place_of(word)
        if result and result[0] is not None:
            number, place = int(result[0]), join(place, place_of(result[-1]))
        return Donation(place, str(word), number)

    def type(self, parts: Parts) -> TypeNode:
        name, sizes, bracket = parts
        return TypeNode(join(place_of(name), place_of(bracket)), str(name), place_of(name), sizes or [])

    # Statements

    def _name(self, token: Token) -> Binding:
        return Binding(place_of(token), str(token))

    def assignment(self, parts: Parts) -> Assignment:
        return Assignment(place_of(parts[0]), [self._name(parts[0])], None, parts[1])

    def checked_assignment(self, parts: Parts) -> Assignment:
        return Assignment(place_of(parts[0]), [self._name(parts[0])], parts[1], parts[2])

    def tuple_assignment(self, parts: Parts) -> Assignment:
        return Assignment(parts[0][0].place, parts[0], None, parts[1])

    def names(self, parts: Parts) -> list[Binding]:
        return [self._name(token) for token in parts]

    def return_statement(self, parts: Parts) -> Return:
        return Return(join(place_of(parts[0]), parts[-1].place), parts[1:])

    # Operators

    def _operator(self, parts: Parts) -> Token:
        return parts[0]

    comparator = shift = additive = multiplicative = sign = _operator

    def _chain(self, parts: Parts) -> Chain:
        return self._chain_of(Chain, parts)

    either = exclusive = both = shifted = sum = product = _chain

    def expression(self, parts: Parts) -> Chain:
        return self._chain_of(Comparison, parts)

    def _chain_of(self, cls: type[Chain], parts: Parts) -> Chain:
        place = join(parts[0].place, parts[-1].place)
        rest = [(str(op), operand) for op, operand in zip(parts[1::2], parts[2::2], strict=True)]
        return cls(place, self._depth(place, parts[::2]), parts[0], rest)

    def prefix(self, parts: Parts) -> Prefix:
        op, operand = parts
        place = join(place_of(op), operand.place)
        return Prefix(place, self._depth(place, [operand]), str(op), operand)

    def power(self, parts: Parts) -> Power:
        base, exponent = parts
        place = join(base.place, exponent.place)
        return Power(place, self._depth(place, parts), base, exponent)

    # Atoms

    def name(self, parts: Parts) -> Name:
        return Name(place_of(parts[0]), 1, str(parts[0]))

    def integer(self, parts: Parts) -> Literal:
        return Literal(place_of(parts[0]), 1, str(parts[0]), "integer")

    def real(self, parts: Parts) -> Literal:
        return Literal(place_of(parts[0]), 1, str(parts[0]), "real")

    def string(self, parts: Parts) -> Literal:
        return Literal(place_of(parts[0]), 1, str(parts[0])[1:-1], "string")

    def group(self, parts: Parts) -> Expression:
        """An expression in parentheses, which belong to its place."""
        inner: Expression = parts[1]
        inner.place = join(place_of(parts[0]), place_of(parts[2]))
        return inner

    def list(self, parts: Parts) -> ListOf:
        opening, items, closing = parts
        place = join(place_of(opening), place_of(closing))
        return ListOf(place, self._depth(place, items or []), items or [])

    def call(self, parts: Parts) -> Call:
        name, arguments, closing = parts
        place = join(place_of(name), place_of(closing))
        positional, keywords = self._arguments(arguments)
        depth = self._depth(place, [*positional, *(k.value for k in keywords)])
        return Call(place, depth, str(name), place_of(name), positional, keywords)

    def apply(self, parts: Parts) -> Apply:
        function, arguments, closing = parts
        place = join(function.place, place_of(closing))
        positional, keywords = self._arguments(arguments)
        depth = self._depth(place, [function, *positional, *(k.value for k in keywords)])
        return Apply(place, depth, function, positional, keywords)

    def _arguments(self, arguments: Parts | None) -> tuple[list[Expression], list[Keyword]]:
        self._check_order(arguments or [])
        positional: Parts = [a for a in arguments or [] if not isinstance(a, Keyword)]
        keywords: Parts = [a for a in arguments or [] if isinstance(a, Keyword)]
        return positional, keywords

    def _check_order(self, arguments: Parts) -> None:
        for before, after in pairwise(arguments):
            if isinstance(before, Keyword) and not isinstance(after, Keyword):
                raise IrcError(
                    "a positional argument after a keyword argument",
                    span_of(after.place, self.file),
                    "put arguments without a name first",
                )

    def keyword(self, parts: Parts) -> Keyword:
        name, value = parts
        return Keyword(join(place_of(name), value.place), str(name), value)

    # Indexing

    def index(self, parts: Parts) -> Indexed:
        base, indices, closing = parts
        place = join(base.place, place_of(closing))
        inner = [part for index in indices for part in _expressions(index)]
        return Indexed(place, self._depth(place, [base, *inner]), base, indices)

    def indices(self, parts: Parts) -> Parts:
        return [Ellipsis_(place_of(part)) if isinstance(part, Token) else part for part in parts]

    def slice_bound(self, parts: Parts) -> Expression | None:
        return parts[0] if parts else None

    def slice(self, parts: Parts) -> Slice:
        start, _, stop, *more = parts
        step = more[1] if more else None
        first, last = (start.place if start else place_of(parts[1])), (step or stop)
        place = join(first, last.place if last else place_of(more[0] if more else parts[1]))
        return Slice(place, start, stop, step)


def _expressions(index: Any) -> list[Expression]:
    if isinstance(index, Slice):
        return [part for part in (index.start, index.stop, index.step) if part is not None]
    return [index] if isinstance(index, Expression) else []
