"""Helpers on xDSL's location attributes. `irc/ir/rewriting.py` has those that give locations to ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Operation


def set_location(op: Operation, location: LocationAttr | None) -> None:
    """Gives an op the location, if there is one."""
    if location is not None:
        op.location = location


def text_locations(location: Attribute) -> Iterator[FileLineColLoc]:
    """Every place in text that a location names, the most specific first: a callee before its callers, the ops of a
    fused location in order."""
    if isinstance(location, FileLineColLoc):
        yield location
    elif isinstance(location, NameLoc):
        yield from text_locations(location.location)
    elif isinstance(location, CallSiteLoc):
        yield from text_locations(location.callee)
        yield from text_locations(location.caller)
    elif isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for part in location.locations:  # pyright: ignore[reportUnknownVariableType]
            yield from text_locations(part)  # pyright: ignore[reportUnknownArgumentType]


def innermost(location: Attribute) -> FileLineColLoc | None:
    """The most specific place in text that a location names; None where it names none."""
    return next(text_locations(location), None)


def describe(location: Attribute) -> str:
    """`file:line:column` of the innermost place, else `?`; for comments in generated code and error messages."""
    place = innermost(location)
    return "?" if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}"


def relocate(module: Operation, places: Sequence[str]) -> None:
    """Gives each op, in the order of a walk, the place that `describe` gave; those without one keep theirs."""
    for op, place in zip(module.walk(), places, strict=True):
        file, *numbers = place.rsplit(":", 2)
        if numbers:
            line, column = map(int, numbers)
            op.location = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
