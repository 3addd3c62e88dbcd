"""Printing of IR: xDSL's syntax, with long attributes as aliases declared on top.

An attribute or type whose class has a string `alias_prefix` (a `ClassVar`) is printed as `#prefix`, `#prefix1`, ... and
declared before the module, so that layouts are read once and parsed once:

    #fragment = #tile.fragment<((4,8,4),(2,2,32)):((256,1,16),(128,8,1024))>
    builtin.module {
      ... tensor<128x256xf32, #fragment> ...
    }
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, BlockArgument, Operation, TypeAttribute
from xdsl.printer import Printer


@dataclass(frozen=True)
class Piece:
    """The text of an op of a module, as another printer printed it, maybe in another process. aliases: the attributes
    that are aliases there and their names, those first that others contain."""

    text: str
    aliases: tuple[tuple[Attribute, str], ...]


_NAME = re.compile(r"[#!][A-Za-z_]\w*")
"""The name of an alias, or the beginning of the name of an attribute or a type."""


@dataclass(eq=False, repr=False)
class AliasPrinter(Printer):
    """Prints ops with aliases; `declarations` has the text that must stand before what it printed. Of ops that are
    isolated from above, `pieces` has texts that are there already.

    Attributes that ops share are printed once: they are told apart by identity, which is quicker than to compare them.
    """

    aliases: dict[Attribute, str] = field(default_factory=dict[Attribute, str])
    declarations: list[str] = field(default_factory=list[str])
    pieces: Mapping[Operation, Piece] = field(default_factory=dict[Operation, Piece])
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _texts: dict[tuple[int, bool], tuple[Attribute, str]] = field(
        default_factory=dict[tuple[int, bool], "tuple[Attribute, str]"]
    )
    """By the identity of the attribute, which is kept with its text so that no other one has that, and by whether it
    stands inside of a location, where a location is not wrapped in `loc()` again."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if self.stream is None or "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self.stream.write(text)

    def print_op(self, op: Operation) -> None:
        if (piece := self.pieces.get(op)) is None:
            super().print_op(op)
            return
        names = {name: self._alias(attribute) for attribute, name in piece.aliases}
        text = _NAME.sub(lambda found: names.get(found[0], found[0]), piece.text)
        self.print_string(text, indent=0)

    def print_attribute(self, attribute: Attribute) -> None:
        key = id(attribute), self.printing_location
        known = self._texts.get(key)
        if known is None:
            outer, self.stream = self.stream, StringIO()
            try:
                self._print_attribute(attribute)
                known = self._texts[key] = attribute, self.stream.getvalue()
            finally:
                self.stream = outer
        self.print_string(known[1])

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        """Without a location that is unknown, which not every op reads back."""
        if not (print_type and self.print_debuginfo and isinstance(arg.location, UnknownLoc)):
            super().print_block_argument(arg, print_type=print_type)
            return
        super().print_block_argument(arg, print_type=False)
        self.print_string(": ")
        self.print_attribute(arg.type)

    def _print_attribute(self, attribute: Attribute) -> None:
        if _prefix(attribute) is None:
            super().print_attribute(attribute)
        else:
            self.print_string(self._alias(attribute))

    def _alias(self, attribute: Attribute) -> str:
        """The name of an attribute that has an alias, which is declared now where it was not before."""
        name, prefix = self.aliases.get(attribute), _prefix(attribute)
        assert prefix is not None
        return self._declare(attribute, prefix) if name is None else name

    def _declare(self, attribute: Attribute, prefix: str) -> str:
        """Names the attribute; what it contains is declared before it, as its text is made first."""
        text = StringIO()
        nested = AliasPrinter(stream=text, aliases=self.aliases, declarations=self.declarations, _counts=self._counts)
        Printer.print_attribute(nested, attribute)
        count = self._counts.get(prefix, 0)
        self._counts[prefix] = count + 1
        sigil = "!" if isinstance(attribute, TypeAttribute) else "#"
        name = f"{sigil}{prefix}{count or ''}"
        self.aliases[attribute] = name
        self.declarations.append(f"{name} = {text.getvalue()}\n")
        return name


def _prefix(attribute: Attribute) -> str | None:
    return getattr(type(attribute), "alias_prefix", None)


def print_piece(op: Operation) -> Piece:
    """The text of an op of a module that is isolated from above, for `print_ir` of the module."""
    body = StringIO()
    printer = AliasPrinter(stream=body)
    with printer.indented():
        printer.print_op(op)
    return Piece(body.getvalue(), tuple(printer.aliases.items()))


def print_ir(
    op: Operation, *, generic: bool = False, locations: bool = False, pieces: Mapping[Operation, Piece] | None = None
) -> str:
    """The text of an op and what it contains, aliases first, ending in a newline.

    `generic` prints the generic form of every op; `locations` adds `loc(...)`. pieces: the texts of some of the ops of
    a module, which are not printed again.
    """
    body = StringIO()
    printer = AliasPrinter(
        stream=body, print_generic_format=generic, print_debuginfo=locations, pieces={} if pieces is None else pieces
    )
    printer.print_op(op)
    return "".join(printer.declarations) + body.getvalue() + "\n"
