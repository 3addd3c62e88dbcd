"""The syntax tree of a `.irc` program. Every node has its place in the text, expressions their depth too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from irc.support.diagnostics import Span

SourceRange: TypeAlias = tuple[int, int, int, int]
"""Line, column, end line, end column; 1-based, the end column exclusive."""


def join(first: SourceRange, last: SourceRange) -> SourceRange:
    """From the start of `first` to the end of `last`."""
    return first[0], first[1], last[2], last[3]


def span_of(place: SourceRange, file: str) -> Span:
    """The first line of a place; a place that goes on is underlined to the end of its first line."""
    line, column, end_line, end_column = place
    return Span(file, line, column, end_column if end_line == line else 1 << 30)


@dataclass(slots=True)
class Expression:
    """`depth` is 1 for a leaf, else one more than that of its deepest operand."""

    place: SourceRange
    depth: int


@dataclass(slots=True)
class Name(Expression):
    text: str


@dataclass(slots=True)
class Literal(Expression):
    """Digits (`kind` is `integer` or `real`) or the text between quotes (`string`)."""

    text: str
    kind: str


@dataclass(slots=True)
class Prefix(Expression):
    """`-x`, `+x`, `~x`."""

    op: str
    operand: Expression


@dataclass(slots=True)
class Chain(Expression):
    """`first op x op y ...` of one level of precedence, grouped from the left. Long sums are flat, not deep."""

    first: Expression
    rest: list[tuple[str, Expression]]


@dataclass(slots=True)
class Comparison(Chain):
    """Comparisons are not chained: `rest` has one entry, or it is an error."""


@dataclass(slots=True)
class Power(Expression):
    base: Expression
    exponent: Expression


@dataclass(slots=True)
class ListOf(Expression):
    items: list[Expression]


@dataclass(slots=True)
class Keyword:
    """`name=value` in a call."""

    place: SourceRange
    name: str
    value: Expression


@dataclass(slots=True)
class Call(Expression):
    function: str
    name_place: SourceRange
    positional: list[Expression]
    keywords: list[Keyword]


@dataclass(slots=True)
class Apply(Expression):
    """A call of what a call gives: `grad(f, wrt=[x])(x, y)`."""

    function: Expression
    positional: list[Expression]
    keywords: list[Keyword]


@dataclass(slots=True)
class Slice:
    """`start:stop:step`; None where a part is left out."""

    place: SourceRange
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@dataclass(slots=True)
class Ellipsis_:
    """`...` in an index."""

    place: SourceRange


Index: TypeAlias = Expression | Slice | Ellipsis_


@dataclass(slots=True)
class Indexed(Expression):
    base: Expression
    indices: list[Index]


@dataclass(slots=True)
class TypeNode:
    """`element[sizes]`."""

    place: SourceRange
    element: str
    element_place: SourceRange
    sizes: list[Expression]


@dataclass(slots=True)
class Binding:
    """A name and its place; in `dim` with its value, in a parameter with its type."""

    place: SourceRange
    name: str


@dataclass(slots=True)
class DimBinding(Binding):
    value: Expression


@dataclass(slots=True)
class RangeBinding(Binding):
    """`N in 1..65536 multiple 8`: a dim that is known when the program is called."""

    least: Expression
    most: Expression
    multiple: Expression | None


@dataclass(slots=True)
class Donation:
    """`donate` or `donate(result)` before a parameter."""

    place: SourceRange
    word: str
    result: int | None


@dataclass(slots=True)
class Parameter(Binding):
    type: TypeNode
    donation: Donation | None


@dataclass(slots=True)
class Assignment:
    """`name = value`, `name: type = value` or `a, b = value`."""

    place: SourceRange
    targets: list[Binding]
    type: TypeNode | None
    value: Expression


@dataclass(slots=True)
class Return:
    place: SourceRange
    values: list[Expression]


Statement: TypeAlias = Assignment | Return


@dataclass(slots=True)
class Function:
    place: SourceRange
    name: Binding
    parameters: list[Parameter]
    results: list[TypeNode]
    body: list[Statement]
    end: SourceRange
    """The closing brace."""


@dataclass(slots=True)
class Program:
    items: list[DimBinding | RangeBinding | Function]
