"""StableHLO's text, as JAX prints it, and in MLIR's generic form: functions of ops."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError, Span
from irc_frontend.stablehlo.lexer import Token, Tokens

MAX_NESTING = 50
"""Regions and lists inside one another."""


@dataclass(frozen=True)
class Type:
    """The type of an array."""

    shape: tuple[int, ...]
    element: str


@dataclass
class Op:
    """An op. words: what its own syntax has beside operands and attributes; taken: the types of the operands, where the
    text has them; types: those of the results."""

    name: str
    span: Span
    results: list[str] = field(default_factory=list[str])
    operands: list[str] = field(default_factory=list[str])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    words: list[str] = field(default_factory=list[str])
    regions: list[Body] = field(default_factory=list["Body"])
    types: list[Type] = field(default_factory=list[Type])


@dataclass
class Body:
    """Ops of named arguments; the last returns."""

    arguments: list[tuple[str, Type]]
    ops: list[Op]


@dataclass
class Function(Body):
    """A function."""

    name: str = ""
    is_private: bool = False


def parse(text: str, name: str) -> dict[str, Function]:
    """The functions of a module, by name."""
    return _Parser(Tokens(text, name)).module()


ELEMENTS = {"i1": "bool", "ui8": "u8", "f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2"}
"""Types that irc calls otherwise."""


class _Parser:
    def __init__(self, tokens: Tokens):
        self._tokens = tokens
        self._depth = 0

    def module(self) -> dict[str, Function]:
        found: dict[str, Function] = {}
        self._skip_locations()
        is_module = self._tokens.optional("module")
        if is_module:
            if self._tokens.peek.kind == "symbol":
                self._tokens.take()
            if self._tokens.optional("attributes"):
                self._dictionary()
            self._tokens.take("{")
        while self._tokens.peek.text == "func.func":
            function = self._function()
            found[function.name] = function
        if is_module:
            self._tokens.take("}")
        self._skip_locations()
        if self._tokens.peek.kind != "end":
            self._fail("expected func.func")
        if not found:
            self._fail("expected a function")
        return found

    def _fail(self, message: str, token: Token | None = None) -> None:
        found = token or self._tokens.peek
        raise IrcError(f"{message}, found {found.text or 'the end'}", self._tokens.span(found))

    def _function(self) -> Function:
        self._tokens.take("func.func")
        is_private = self._tokens.optional("private")
        self._tokens.optional("public")
        name = self._tokens.take(kind="symbol").text
        arguments = self._arguments()
        if self._tokens.optional("->"):
            self._result_types()
        if self._tokens.optional("attributes"):
            self._dictionary()
        ops = self._block()
        return Function(arguments, ops, name, is_private)

    def _arguments(self) -> list[tuple[str, Type]]:
        """`(%a: type {attributes} loc, ...)`."""
        found: list[tuple[str, Type]] = []
        self._tokens.take("(")
        while not self._tokens.optional(")"):
            name = self._tokens.take(kind="value").text
            self._tokens.take(":")
            found.append((name, self._type()))
            if self._tokens.peek.text == "{":
                self._dictionary()
            self._skip_locations()
            self._tokens.optional(",")
        return found

    def _block(self) -> list[Op]:
        """`{ ops }`."""
        return self._region().ops

    def _op(self) -> Op:
        results: list[str] = []
        while self._tokens.peek.kind == "value":
            name, _, count = self._tokens.take().text.partition(":")
            results += [f"{name}#{number}" for number in range(int(count))] if count else [name]
            self._tokens.optional(",")
        if results:
            self._tokens.take("=")
        token = self._tokens.take()
        op = Op(token.text.strip('"'), self._tokens.span(token), results)
        if token.kind not in ("string", "word"):
            self._fail("expected an op", token)
        try:
            (self._generic if token.kind == "string" else self._pretty)(op)
        except (TypeError, ValueError) as error:
            raise IrcError(f"cannot read {op.name}: {error}", op.span) from error
        self._skip_locations()
        return op

    def _generic(self, op: Op) -> None:
        """`"name"(%a, %b) <{properties}> ({region}) {attributes} : (types) -> types`."""
        self._tokens.take("(")
        while not self._tokens.optional(")"):
            op.operands.append(self._tokens.take(kind="value").text)
            self._tokens.optional(",")
        if self._tokens.optional("<"):
            op.attrs.update(self._dictionary())
            self._tokens.take(">")
        if self._tokens.optional("("):
            while not self._tokens.optional(")"):
                op.regions.append(self._region())
                self._tokens.optional(",")
        if self._tokens.peek.text == "{":
            op.attrs.update(self._dictionary())
        self._tokens.take(":")
        op.types = self._signature()

    def _region(self) -> Body:
        """`{ ^block(%a: type, ...): ops }`, where the block may have no name and no arguments."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._fail(f"expected at most {MAX_NESTING} regions inside one another")
        self._tokens.take("{")
        arguments: list[tuple[str, Type]] = []
        if self._tokens.peek.kind == "block":
            self._tokens.take()
            if self._tokens.peek.text == "(":
                arguments = self._arguments()
            self._tokens.take(":")
        ops: list[Op] = []
        while not self._tokens.optional("}"):
            ops.append(self._op())
        self._skip_locations()
        self._depth -= 1
        return Body(arguments, ops)

    def _pretty(self, op: Op) -> None:
        """What stands before the types, whatever the op: values, words, `name = attribute`, lists and brackets. Behind
        them are the regions of a reduction, `reducer(...) {...}`, or of a loop, `cond {...} do {...}`."""
        carried: list[str] = []
        while self._tokens.peek.text not in (":", "}"):
            token = self._tokens.peek
            if token.kind == "value" and self._tokens.after.text == "=":
                carried.append(self._tokens.take().text)
                self._tokens.take("=")
                op.operands.append(self._tokens.take(kind="value").text)
            elif token.kind == "value":
                op.operands.append(self._tokens.take().text)
            elif token.kind == "word" and self._tokens.after.text == "=":
                self._tokens.take()
                self._tokens.take("=")
                op.attrs[token.text] = self._attribute_of_syntax()
            elif token.text == "init":
                self._tokens.take()
                self._tokens.take(":")
            elif token.kind == "literal":
                op.attrs["value"] = self._tokens.take().text
            elif token.text == "[":
                op.attrs["ranges"] = self._ranges()
            elif token.text == "{":
                op.attrs.update(self._dictionary())
            elif token.kind in ("word", "symbol", "string"):
                op.words.append(self._tokens.take().text.strip('"'))
            elif token.text in ("(", ")", ","):
                self._tokens.take()
            else:
                self._fail(f"cannot read {op.name}")
        if self._tokens.optional(":"):
            op.types = self._signature()
        if self._tokens.optional("reducer"):
            op.regions.append(self._reducer())
        if self._tokens.optional("attributes"):
            op.attrs.update(self._dictionary())
        while carried and (self._tokens.optional("cond") or self._tokens.optional("do")):
            op.regions.append(Body(list(zip(carried, op.types, strict=True)), self._block()))

    def _reducer(self) -> Body:
        """`(%a: t, %b: t) (%c: t, %d: t) { ops }`: the two sides of each array."""
        pairs: list[list[tuple[str, Type]]] = []
        while self._tokens.peek.text == "(":
            pairs.append(self._arguments())
        sides = [argument for side in zip(*pairs, strict=True) for argument in side]
        return Body(sides, self._block())

    def _attribute_of_syntax(self) -> Any:
        """A value, or lists joined by `x` and `->`, as dimension numbers are."""
        found = [self._value()]
        while self._tokens.peek.text in ("x", "->"):
            self._tokens.take()
            found.append(self._value())
        return found[0] if len(found) == 1 else found

    def _ranges(self) -> list[list[int]]:
        """`[0:2, 1:9:3]`."""
        found: list[list[int]] = []
        self._tokens.take("[")
        while not self._tokens.optional("]"):
            numbers = [int(self._tokens.take(kind="number").text)]
            while self._tokens.optional(":"):
                numbers.append(int(self._tokens.take(kind="number").text))
            found.append(numbers)
            self._tokens.optional(",")
        return found

    def _dictionary(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._tokens.take("{")
        while not self._tokens.optional("}"):
            name = self._tokens.take().text.strip('"')
            found[name] = self._value() if self._tokens.optional("=") else True
            self._tokens.optional(",")
        return found

    def _value(self) -> Any:
        """An attribute: a number with or without its type, a list, a dictionary, a word, or as text."""
        token = self._tokens.peek
        if token.text == "{":
            return self._dictionary()
        if token.text == "[":
            return self._list()
        self._tokens.take()
        if token.kind == "literal" and token.text.startswith("array<"):
            return [json.loads(each) for each in token.text[6:-1].partition(":")[2].split(",") if each.strip()]
        if token.kind == "literal":
            is_typed = self._tokens.optional(":")
            type = self._type() if is_typed else None
            return token.text if type is None else dense(token.text, type, self._tokens.span(token)).tolist()
        if token.kind == "attribute" and "<" in token.text and "=" in token.text:
            inner = Tokens("{" + token.text.partition("<")[2][:-1] + "}", "<attribute>")
            return _Parser(inner)._dictionary()
        if token.kind == "number":
            if self._tokens.peek.text == ":" and self._tokens.after.kind == "word":
                self._tokens.take()
                self._tokens.take()
            return json.loads(token.text)
        if token.kind in ("sign", "block", "value"):
            self._fail("expected an attribute", token)
        return {"true": True, "false": False}.get(token.text, token.text.strip('"'))

    def _list(self) -> list[Any]:
        found: list[Any] = []
        self._tokens.take("[")
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._fail(f"expected at most {MAX_NESTING} lists inside one another")
        while not self._tokens.optional("]"):
            found.append(self._value())
            self._tokens.optional(",")
        self._depth -= 1
        return found

    def _signature(self) -> list[Type]:
        """The types of the results: those behind the arrow; without one the last, or all of what is returned."""
        before = self._result_types()
        return self._result_types() if self._tokens.optional("->") else before

    def _result_types(self) -> list[Type]:
        is_listed = self._tokens.optional("(")
        found: list[Type] = []
        while not (is_listed and self._tokens.optional(")")):
            found.append(self._type())
            if is_listed and self._tokens.peek.text == "{":
                self._dictionary()
            if not self._tokens.optional(",") and not is_listed:
                break
        return found

    def _type(self) -> Type:
        token = self._tokens.take()
        found = re.fullmatch(r"tensor<((?:\d+x)*)(\w+)>", token.text)
        if found is None:
            raise IrcError(f"expected a tensor of static shape, found {token.text}", self._tokens.span(token))
        element = ELEMENTS.get(found[2], found[2])
        if element not in DTYPES:
            hint = f"it has {', '.join(DTYPES)}"
            raise IrcError(f"irc has no element type {found[2]}", self._tokens.span(token), hint)
        return Type(tuple(int(each) for each in found[1].split("x") if each), element)

    def _skip_locations(self) -> None:
        """`loc(...)`, and names of them."""
        while self._tokens.peek.text == "loc" or self._tokens.peek.text.startswith("#loc"):
            if self._tokens.take().text != "loc":
                self._tokens.take("=")
                self._tokens.take("loc")
            depth = 0
            while True:
                token = self._tokens.take()
                depth += (token.text == "(") - (token.text == ")")
                if not depth:
                    break


def dense(text: str, type: Type, span: Span) -> np.ndarray[Any, Any]:
    """The array of `dense<...>`: numbers, their bits in hexadecimal, or the bytes of all of them."""
    dtype, inner = DTYPES[type.element], text[text.index("<") + 1 : -1].strip()
    if not text.startswith("dense<"):
        raise IrcError("the elements of a constant are not in the text", span)
    if inner.startswith('"0x'):
        found = np.frombuffer(bytes.fromhex(inner[3:-1]), "u1" if type.element == "bool" else dtype)
        return np.broadcast_to(found.astype(dtype).reshape(type.shape if found.size > 1 else ()), type.shape)
    try:
        values = json.loads(re.sub(r"0x[0-9A-Fa-f]+", r'"\g<0>"', inner or "[]"))
        numbers = _numbers(values, dtype)
        return np.broadcast_to(numbers.reshape(type.shape) if numbers.size > 1 else numbers.reshape(()), type.shape)
    except (ValueError, TypeError, OverflowError) as error:
        if not inner and 0 in type.shape:
            return np.zeros(type.shape, dtype)
        raise IrcError(f"cannot read the elements of a constant: {error}", span) from error


def _numbers(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if isinstance(values, list):
        return np.asarray([_numbers(each, dtype) for each in values])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(values, str):
        return np.asarray(int(values, 16), f"u{dtype.itemsize}").view(dtype)
    return np.asarray(values).astype(dtype)
