"""Evaluates the expressions of a function body: numbers are computed, array operations are appended to the builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from irc.ir.dtypes import ELEMENTS, Element
from irc.language import numbers
from irc.language.arguments import Arguments
from irc.language.builder import Builder
from irc.language.functions import BUILTINS, Builtin
from irc.language.gradients import TRANSFORMS, derived
from irc.language.indexing import index
from irc.language.numbers import Number, NumberError
from irc.language.operators import Operand, binary, matmul, unary
from irc.language.signature import Signature
from irc.language.syntax import (
    Apply,
    Call,
    Chain,
    Comparison,
    Expression,
    Indexed,
    Keyword,
    ListOf,
    Literal,
    Name,
    Power,
    Prefix,
    SourceRange,
    TypeNode,
    join,
)
from irc.language.values import Array, Items, Several, Value, describe, suggestion, type_text
from irc.support.diagnostics import IrcError

KEYWORDS = ("dim", "func", "return", "true", "false", "inf", "nan", "None")
ELEMENT_NAMES = {element.name: element for element in ELEMENTS}
MAX_KNOWN = 8
"""Names that the hint of an unknown one lists."""

_WORDS: dict[str, Value] = {
    "true": numbers.boolean(True),
    "false": numbers.boolean(False),
    "inf": numbers.real(float("inf")),
    "nan": numbers.real(float("nan")),
    "None": None,
    **ELEMENT_NAMES,
}


class Evaluator:
    """`scope` has the values of names; `functions` those above; `unknown_call` makes the error of a call to another."""

    def __init__(
        self,
        builder: Builder,
        scope: dict[str, Value],
        functions: dict[str, Signature],
        later: Iterable[str] = (),
    ):
        self.builder = builder
        self.scope = scope
        self.functions = functions
        self.later = set(later)
        self._cases: dict[type[Expression], Callable[..., Value]] = {
            Name: self._name,
            Literal: self._literal,
            Chain: self._chain,
            Comparison: self._comparison,
            Prefix: self._prefix,
            Power: self._power,
            ListOf: self._list,
            Call: self._call,
            Apply: self._apply,
            Indexed: self._indexed,
        }

    def evaluate(self, node: Expression) -> Value:
        return self._cases[type(node)](node)

    def operand(self, node: Expression) -> Operand:
        return self._cases[type(node)](node), node.place

    def number(self, node: Expression, what: str) -> Number:
        """A compile-time integer; `what` names it in the error."""
        value = self.evaluate(node)
        if isinstance(value, Number) and value.is_integer:
            return value
        hint = "`//` divides integers" if isinstance(value, Number) and value.kind == "float" else None
        raise self.builder.error(f"{what} must be an integer, found {describe(value)}", node.place, hint)

    def type(self, node: TypeNode) -> tuple[tuple[int, ...], Element]:
        """The shape and the element type that a type in the text says."""
        element = ELEMENT_NAMES.get(node.element)
        if element is None:
            hint = suggestion(node.element, ELEMENT_NAMES) or f"element types are {', '.join(ELEMENT_NAMES)}"
            raise self.builder.error(f"unknown element type {node.element}", node.element_place, hint)
        shape = tuple(int(self.size(size)) for size in node.sizes)
        self.builder.check_shape(shape, element, node.place)
        return shape, element

    def size(self, node: Expression) -> int:
        found = self.evaluate(node)
        if isinstance(found, Number) and found.kind == "extent":
            return int(found.value)
        value = int(self.number(node, "a size").value)
        if value < 0:
            raise self.builder.error(f"a negative size, {value}", node.place, "sizes are 0 or more")
        return value

    # Leaves

    def _name(self, node: Name) -> Value:
        if node.text in self.scope:
            return self.scope[node.text]
        if node.text in _WORDS:
            return _WORDS[node.text]
        raise self._unknown(node)

    def _unknown(self, node: Name) -> IrcError:
        name = node.text
        if name in self.functions or name in BUILTINS or name in TRANSFORMS:
            return self.builder.error(f"{name} is a function", node.place, f"call it: {name}(...)")
        if name in self.later:
            return self.builder.error(f"{name} is defined below", node.place)
        hint = suggestion(name, [*self.scope, *_WORDS]) or self._known_names(name)
        return self.builder.error(f"unknown name {name}", node.place, hint)

    def _known_names(self, name: str) -> str:
        known = [*self.scope]
        if not known:
            return f"`dim {name} = 64` before the functions names a number"
        more = len(known) - MAX_KNOWN
        return f"names here are {', '.join(known[:MAX_KNOWN])}" + (f" and {more} more" if more > 0 else "")

    def _literal(self, node: Literal) -> Value:
        if node.kind == "string":
            return node.text
        parse = numbers.parse_integer if node.kind == "integer" else numbers.parse_float
        return self._computed(lambda: parse(node.text), node.place)

    def _computed(self, compute: Callable[[], Number], place: SourceRange) -> Number:
        try:
            return compute()
        except NumberError as error:
            raise self.builder.rejected(error, place) from None

    def _list(self, node: ListOf) -> Value:
        return Items(tuple(self.evaluate(item) for item in node.items))

    # Operators

    def _chain(self, node: Chain) -> Value:
        value, place = self.operand(node.first)
        for op, part in node.rest:
            right = self.operand(part)
            whole = join(place, part.place)
            if op == "@":
                value = matmul(self.builder, (value, place), right, whole)
            else:
                value = binary(self.builder, op, (value, place), right, whole)
            place = whole
        return value

    def _comparison(self, node: Comparison) -> Value:
        if len(node.rest) > 1:
            raise self.builder.error("comparisons are not chained", node.place, "join two by `&`: (a < b) & (b < c)")
        return self._chain(node)

    def _prefix(self, node: Prefix) -> Value:
        operand = node.operand
        if node.op == "-" and isinstance(operand, Literal) and operand.kind == "integer":
            return self._computed(lambda: numbers.parse_integer(operand.text, negative=True), node.place)
        return unary(self.builder, node.op, self.operand(operand), node.place)

    def _power(self, node: Power) -> Value:
        return binary(self.builder, "**", self.operand(node.base), self.operand(node.exponent), node.place)

    def _indexed(self, node: Indexed) -> Value:
        value = self.evaluate(node.base)
        if not isinstance(value, Array):
            raise self.builder.error(f"cannot index {describe(value)}", node.base.place)
        return index(self.builder, value, node, self.evaluate)

    # Calls

    def _call(self, node: Call) -> Value:
        found = self.functions.get(node.function)
        if found is not None:
            return self._inlined(found, node)
        if node.function in TRANSFORMS:
            hint = f"call it: {TRANSFORMS[node.function]}(...)"
            raise self.builder.error(f"{node.function}(...) is a function", node.place, hint)
        known = BUILTINS.get(node.function)
        if known is None:
            raise self._unknown_function(node)
        bound = self._bind(node, known)
        return known.implementation(Arguments(self.builder, node.function, bound, node.place))

    def _apply(self, node: Apply) -> Value:
        return self._inlined(self._function(node.function), node)

    def _function(self, node: Expression) -> Signature:
        """The function that a name or a transform stands for."""
        if isinstance(node, Name) and node.text in self.functions:
            return self.functions[node.text]
        if isinstance(node, Call) and node.function in TRANSFORMS:
            return self._transformed(node)
        if isinstance(node, Name) and node.text in self.later:
            raise self.builder.error(f"{node.text} is not defined above", node.place)
        hint = f"a function of the program, {' or '.join(TRANSFORMS.values())}"
        known = suggestion(node.text, self.functions) if isinstance(node, Name) else None
        raise self.builder.error("expected a function", node.place, known or hint)

    def _transformed(self, node: Call) -> Signature:
        """`grad(f, wrt=[x, y])`: names of parameters of f."""
        signature = TRANSFORMS[node.function]
        if len(node.positional) != 1 or [keyword.name for keyword in node.keywords] != ["wrt"]:
            raise self.builder.error(f"{node.function} takes a function and wrt", node.place, signature)
        names = node.keywords[0].value
        if not isinstance(names, ListOf) or not all(isinstance(item, Name) for item in names.items):
            raise self.builder.error("wrt is a list of names of parameters", names.place, signature)
        function = self._function(node.positional[0])
        wrt = [(item.text, item.place) for item in names.items if isinstance(item, Name)]
        return derived(self.builder, function, wrt, node)

    def _unknown_function(self, node: Call) -> IrcError:
        name = node.function
        if name in self.later:
            return self.builder.error(
                f"{name} is not defined above",
                node.name_place,
                "functions call those above them; there is no recursion",
            )
        if name in self.scope or name in _WORDS:
            hint = f"cast(x, {name}) converts" if name in ELEMENT_NAMES else "arrays are indexed by x[...]"
            return self.builder.error(f"{name} is not a function", node.name_place, hint)
        return self.builder.error(
            f"unknown function {name}", node.name_place, suggestion(name, [*BUILTINS, *TRANSFORMS, *self.functions])
        )

    def _bind(self, node: Call, function: Builtin) -> dict[str, Operand]:
        """Arguments by parameter name, evaluated in the order of the text."""
        parameters = function.parameters()
        positional = [name for name, _, may_be_positional in parameters if may_be_positional]
        if len(node.positional) > len(positional):
            raise self.builder.error(
                f"{function.name} takes at most {len(positional)} positional arguments, found {len(node.positional)}",
                node.place,
                function.signature,
            )
        bound = {name: self.operand(value) for name, value in zip(positional, node.positional, strict=False)}
        for keyword in node.keywords:
            self._check_keyword(keyword, {name for name, _, _ in parameters}, bound, function)
            bound[keyword.name] = self.operand(keyword.value)
        missing = [name for name, required, _ in parameters if required and name not in bound]
        if missing:
            message = f"{function.name} needs {' and '.join(missing)}"
            raise self.builder.error(message, node.place, function.signature)
        return bound

    def _check_keyword(self, keyword: Keyword, names: set[str], bound: dict[str, Operand], function: Builtin) -> None:
        if keyword.name not in names:
            raise self.builder.error(
                f"{function.name} has no parameter {keyword.name}",
                keyword.place,
                suggestion(keyword.name, names) or function.signature,
            )
        if keyword.name in bound:
            raise self.builder.error(f"{keyword.name} is given twice", keyword.place, function.signature)

    def _inlined(self, function: Signature, node: Call | Apply) -> Value:
        names = [name for name, _, _ in function.parameters]
        text = f"{function.name}({', '.join(f'{n}: {type_text(s, e)}' for n, s, e in function.parameters)})"
        if len(node.positional) > len(names):
            message = f"{function.name} takes {len(names)} arguments, found {len(node.positional)}"
            raise self.builder.error(message, node.place, text)
        bound = {name: self.operand(value) for name, value in zip(names, node.positional, strict=False)}
        for keyword in node.keywords:
            self._check_keyword(keyword, set(names), bound, Builtin(function.name, text, lambda _: None))
            bound[keyword.name] = self.operand(keyword.value)
        missing = [name for name in names if name not in bound]
        if missing:
            raise self.builder.error(f"{function.name} needs {' and '.join(missing)}", node.place, text)
        arguments = [
            self.typed(bound[name], shape, element, f"{function.name} expects {{}} for {name}")
            for name, shape, element in function.parameters
        ]
        results = self.builder.inline(function.block, arguments, node.place)
        return results[0] if len(results) == 1 else Several(tuple(results))

    def typed(self, operand: Operand, shape: tuple[int, ...], element: Element, message: str) -> Array:
        """The array of exactly this type; a literal becomes a scalar. `message` has `{}` for the type."""
        value, place = operand
        if isinstance(value, Number) and not shape:
            return self.builder.literal(value, (), element, place)
        if isinstance(value, Array) and value.shape == shape and value.element is element:
            return value
        wanted = type_text(shape, element)
        raise self.builder.error(
            f"{message.format(wanted)}, found {describe(value)}", place, _conversion(value, shape, element)
        )


def _conversion(value: Value, shape: tuple[int, ...], element: Element) -> str | None:
    """How a value could become one of this type."""
    if isinstance(value, Number):
        return f"full([{', '.join(map(str, shape))}], {value}, {element.name})"
    if not isinstance(value, Array):
        return None
    if value.shape == shape:
        return f"cast(x, {element.name})"
    return "broadcast and reshape change shapes" if value.element is element else None
