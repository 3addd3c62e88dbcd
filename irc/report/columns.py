"""Texts side by side: each line with the places in the program that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import NamedTuple

from xdsl.ir import Attribute, Operation

from irc.ir.locations import text_locations
from irc.ir.printer import AliasPrinter


class Place(NamedTuple):
    """A place in the program's text; both numbers count from 1."""

    line: int
    column: int


class Line(NamedTuple):
    """A line of a text, and where in the program it comes from. mark: what is said of it, such as counts."""

    text: str
    places: tuple[Place, ...] = ()
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A level's text. name: a word. title: what is shown. note: why lines are missing, where they are."""

    name: str
    title: str
    lines: Sequence[Line]
    note: str = ""


def places_in(file: str, locations: Iterable[Attribute]) -> tuple[Place, ...]:
    """The places in a file that locations name, in their order, each once."""
    found = (text for location in locations for text in text_locations(location))
    places = (Place(text.line.data, text.column.data) for text in found if text.filename.data == file)
    return tuple(dict.fromkeys(places))


def source_column(file: str, text: str, marks: Mapping[int, str]) -> Column:
    """The program: every line comes from itself. marks: by the number of the line."""
    lines = [Line(line, (Place(number, 0),), marks.get(number, "")) for number, line in enumerate(text.splitlines(), 1)]
    return Column("source", file.rsplit("/", 1)[-1], lines)


@dataclass(eq=False, repr=False)
class _PlacingPrinter(AliasPrinter):
    """Notes where in the text each op begins."""

    begun: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])

    def print_op(self, op: Operation) -> None:
        assert isinstance(self.stream, StringIO)
        self.begun.append((self.stream.tell(), op))
        super().print_op(op)


def ir_column(name: str, module: Operation, file: str, marks: Mapping[Operation, str] | None = None) -> Column:
    """The IR of a module, as `print_ir` gives it. marks: of some ops."""
    body = StringIO()
    printer = _PlacingPrinter(stream=body)
    printer.print_op(module)
    text, reached, number = body.getvalue(), 0, 0
    lines = [Line(line) for line in text.splitlines()]
    for at, op in printer.begun:
        number, reached = number + text.count("\n", reached, at), at
        places = () if op is module else places_in(file, [op.location])
        lines[number] = Line(lines[number].text, places, (marks or {}).get(op, ""))
    return Column(name, name, [*(Line(declared.rstrip("\n")) for declared in printer.declarations), *lines])
