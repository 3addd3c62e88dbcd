"""Text to syntax tree: Lark's LALR parser with callbacks that build `irc.language.syntax` nodes as it goes."""

from __future__ import annotations

import hashlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import lark
from lark.lark import PostLex

from irc.language.syntax import Program
from irc.language.tree_builder import TreeBuilder
from irc.support.cache import cache_folder, publish
from irc.support.diagnostics import IrcError, Span

MAX_NESTING = 100
"""Depth of brackets, and of expressions within expressions, that a program may have."""
LONGEST_TEXT = 16 << 20
"""Characters of a program."""

_GRAMMAR = Path(__file__).with_name("grammar.lark")

_SPOKEN = {
    "NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "STRING": "a string",
    "_NL": "the end of the line",
    "$END": "the end of the file",
    "_DIM": "`dim`",
    "_FUNC": "`func`",
    "RETURN": "`return`",
    "ELLIPSIS": "`...`",
}
"""What terminals are called in messages; the others are shown as they are written."""
_BRANCHES = "a program has no branches and no loops: where(condition, a, b) chooses elements"
_OPERATORS = frozenset("== != < <= > >= | ^ & << >> + - * / // % @ ** ~".split())


class _Newlines(PostLex):
    """Drops newlines inside ( ) and [ ], and bounds how deep brackets nest."""

    always_accept = ("_NL",)

    def __init__(self, file: str):
        self.file = file

    def process(self, stream: Iterator[lark.Token]) -> Iterator[lark.Token]:
        depth = 0
        for token in stream:
            kind = token.type
            if kind in ("LPAR", "LSQB"):
                depth += 1
                if depth > MAX_NESTING:
                    raise too_deep(_token_span(token, self.file))
            elif kind in ("RPAR", "RSQB"):
                depth -= 1
            elif kind == "_NL" and depth > 0:
                continue
            yield token


def too_deep(span: Span) -> IrcError:
    """The error of nesting beyond `MAX_NESTING`."""
    return IrcError(f"nested deeper than {MAX_NESTING} levels", span, "name a part of it in a statement of its own")


def read(text: str, file: str) -> Program:
    """The syntax tree of a program. Raises IrcError at the first place where the text is not one."""
    if len(text) > LONGEST_TEXT:
        raise IrcError(f"the program is longer than {LONGEST_TEXT} characters", Span(file, 1, 1))
    builder = TreeBuilder(file, MAX_NESTING, too_deep)
    try:
        return _parse(text, file, builder)
    except lark.UnexpectedCharacters as error:
        raise _unexpected_character(error, text, file) from None
    except lark.UnexpectedToken as error:
        raise _unexpected_token(error, text, file) from None


def _parse(text: str, file: str, builder: TreeBuilder) -> Program:
    parser = _parser()
    with parser.lock:
        parser.callbacks.target, parser.newlines.file = builder, file
        return cast(Program, parser.lark.parse(text))


class _Callbacks:
    """Forwards Lark's callbacks to the tree builder of the current text, so that one parser serves all texts."""

    def __init__(self) -> None:
        self.target: TreeBuilder

    def __getattr__(self, rule: str) -> Any:
        if rule.startswith("_") or not hasattr(TreeBuilder, rule):
            raise AttributeError(rule)

        def call(children: list[Any]) -> Any:
            return getattr(self.target, rule)(children)

        return call


class _CachePath(str):
    """Where Lark reads and writes its tables. Lark takes `str` of its options into the key that says whether the tables
    are still good; the path, which is another one each time, must not count."""

    def __str__(self) -> str:
        return "cache"


class _Parser:
    """Lark's tables for the grammar, and the parts that change from text to text (under `lock`)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.callbacks, self.newlines = _Callbacks(), _Newlines("")
        grammar = _GRAMMAR.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as scratch:
            self.lark = self._load(grammar, Path(scratch))

    def _load(self, grammar: str, scratch: Path) -> lark.Lark:
        """The tables from the user's cache folder, else built and put there.

        Lark does not write its cache atomically: it writes in a scratch folder, and a rename publishes the file. Where
        nothing can be written, nothing is cached.
        """
        digest = hashlib.sha256(f"{grammar}{lark.__version__}{sys.version}".encode()).hexdigest()[:16]
        folder = cache_folder()
        published = scratch / "off" if folder is None else folder / f"grammar-{digest}.lark"
        private = scratch / "grammar.lark"
        cached = _copied(published, private)
        parser = lark.Lark(
            grammar,
            parser="lalr",
            lexer="contextual",
            transformer=cast(Any, self.callbacks),
            postlex=self.newlines,
            maybe_placeholders=True,
            cache=_CachePath(private),
        )
        if folder is not None and (built := private.read_bytes()) != cached:
            with suppress(OSError):
                publish(published, built)
        return parser


def _copied(source: Path, target: Path) -> bytes | None:
    """The bytes that were copied; None where the source cannot be read. Lark rewrites a target that it cannot load."""
    try:
        data = source.read_bytes()
    except OSError:
        return None
    target.write_bytes(data)
    return data


@cache
def _parser() -> _Parser:
    return _Parser()


def _token_span(token: lark.Token, file: str) -> Span:
    line, column = token.line or 1, token.column or 1
    width = 1 if token.type in ("_NL", "$END") else len(token)
    return Span(file, line, column, column + width)


def _unexpected_character(error: lark.UnexpectedCharacters, text: str, file: str) -> IrcError:
    span = Span(file, error.line, error.column, error.column + 1)
    character = text[error.pos_in_stream or 0]
    if character == '"':
        return IrcError("a string that does not end on its line", span, 'close it with `"`')
    return IrcError(f"unexpected character {character!r}", span, "`#` starts a comment")


def _unexpected_token(error: lark.UnexpectedToken, text: str, file: str) -> IrcError:
    token: lark.Token = error.token
    if token.type == "$END":
        lines = text.split("\n")
        span = Span(file, len(lines), len(lines[-1]) + 1)
    else:
        span = _token_span(token, file)
    found = _spoken(token.type).removeprefix("the ") if token.type in ("_NL", "$END") else f"`{token}`"
    hint = _BRANCHES if _begins_branch(token, text) else _expected(error.accepts or error.expected)
    return IrcError(f"unexpected {found}", span, hint)


def _begins_branch(token: lark.Token, text: str) -> bool:
    """Whether it stands behind a word of other languages that begins a branch or a loop, which is a name here."""
    line = text.split("\n")[(token.line or 1) - 1]
    return line[: (token.column or 1) - 1].strip() in ("if", "for", "while")


def _expected(terminals: set[str]) -> str:
    """What could have stood there; operators are summed up, since nearly any of them could."""
    spoken = {_spoken(name) for name in terminals}
    operators = {f"`{op}`" for op in _OPERATORS}
    if len(spoken & operators) > 3 and not {"a name"} & spoken:
        spoken = (spoken - operators) | {"an operator"}
    elif "a name" in spoken and "a number" in spoken:
        spoken = (spoken - operators - {"a name", "a number", "a string", "`(`", "`[`"}) | {"an expression"}
    listed = sorted(spoken)
    return "expected " + (" or ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0])


def _spoken(terminal: str) -> str:
    if terminal in _SPOKEN:
        return _SPOKEN[terminal]
    definitions = {t.name: t.pattern for t in _parser().lark.terminals}
    return f"`{definitions[terminal].value}`" if terminal in definitions else terminal
