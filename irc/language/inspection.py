"""What is known of a program that may have errors: for editors, which show it while it is written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from irc.language.parser import ProgramBuilder
from irc.language.reader import read
from irc.language.syntax import Binding, Call, DimBinding, Function, Name, Program, RangeBinding, SourceRange
from irc.language.values import Value, describe
from irc.support.diagnostics import IrcError, labels, register_source

Item = DimBinding | RangeBinding | Function

_ITEM = re.compile(r"^[ \t]*(?:func|dim)\b", re.MULTILINE)


@dataclass
class Inspection:
    """items: those whose syntax can be read. scopes: values of names in each function, as far as it can be evaluated.
    dims: values of dims. errors: those of different items, the first of the text first."""

    items: list[Item] = field(default_factory=list[Item])
    scopes: Mapping[str, Mapping[str, Value]] = field(default_factory=dict[str, Mapping[str, Value]])
    dims: Mapping[str, Value] = field(default_factory=dict[str, Value])
    errors: list[IrcError] = field(default_factory=list[IrcError])
    _named: Any = str

    def describe(self, value: Value) -> str:
        """A value as messages call it, with the names of extents that are known when a program is called."""
        return self._named(describe(value))


def inspect(text: str, filename: str) -> Inspection:
    """Reads and evaluates as much of a program as can be."""
    register_source(filename, text)
    program, errors, failed = _readable(text, filename)
    builder = ProgramBuilder(program, filename, text, {})
    found = Inspection(list(program.items), builder.scopes, builder.dims, errors, builder.builder.named)
    try:
        builder.check_names()
    except IrcError as error:
        errors.append(error)
        return found
    for item in program.items:
        try:
            builder.add(item)
        except IrcError as error:
            if failed.isdisjoint(name for name, _ in names_in(item)):
                errors.append(error)
            failed.add(name_of(item).name)
    if not program.items and not errors:
        errors.append(IrcError("a program has one function or more", None, "func f(x: f32[4]) -> f32[4] { ... }"))
    return found


def name_of(item: Item) -> Binding:
    return item.name if isinstance(item, Function) else item


def names_in(node: Any) -> Iterator[tuple[str, SourceRange]]:
    """The names of values and functions in a part of the tree, with their places."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from names_in(part)
        return
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return
    if isinstance(node, Name):
        yield node.text, node.place
    if isinstance(node, Call):
        yield node.function, node.name_place
    for each in dataclasses.fields(node):
        yield from names_in(getattr(node, each.name))


def _readable(text: str, filename: str) -> tuple[Program, list[IrcError], set[str]]:
    """The syntax tree of the items that can be read; the first error of the others, which are blanked, and the words
    with which they begin."""
    errors: list[IrcError] = []
    words: set[str] = set()
    starts = [found.start() for found in _ITEM.finditer(text)]
    chunks = list(pairwise([0, *starts[1:], len(text)]))
    while True:
        try:
            return read(text, filename), errors, words
        except IrcError as error:
            errors = errors or [error]
            if (chunk := _chunk_of(error, text, chunks)) is None:
                return Program([]), errors, words
            chunks.remove(chunk)
            lost = text[slice(*chunk)]
            words.update(re.findall(r"\w+", lost.lstrip().partition("\n")[0]))
            text = text[: chunk[0]] + re.sub(r"[^\n]", " ", lost) + text[chunk[1] :]


def _chunk_of(error: IrcError, text: str, chunks: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The item that has the place of an error, else the last before it, else any."""
    place = next(labels(error.location), None)
    line = 1 if place is None else place.span.line
    position = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    return next((chunk for chunk in reversed(chunks) if chunk[0] <= position), next(iter(chunks), None))
