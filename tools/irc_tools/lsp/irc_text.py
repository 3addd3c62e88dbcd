"""What is known of a `.irc` program."""

from __future__ import annotations

from collections.abc import Mapping

from irc.language.functions import BUILTINS
from irc.language.gradients import TRANSFORMS
from irc.language.inspection import Inspection, Item, inspect, name_of, names_in
from irc.language.numbers import Number
from irc.language.syntax import Assignment, Binding, Function, SourceRange
from irc.language.values import Value
from irc_tools.lsp.model import Analysis, Lines, Range, Symbol, Target, Use, code
from irc_tools.lsp.places import fault


def analyze_irc(text: str, name: str) -> Analysis:
    """All that is known of a program, which may be half-written."""
    found = inspect(text, name)
    lines = Lines(text)
    names = _Names(found, text)
    analysis = Analysis([fault(error, name, lines) for error in found.errors])
    for item in found.items:
        analysis.uses += names.uses(item)
        analysis.symbols.append(names.symbol(item))
    return analysis


class _Names:
    """The names of a program."""

    def __init__(self, found: Inspection, text: str):
        self._found = found
        self._lines = text.split("\n")
        self._global = {name_of(item).name: item for item in reversed(found.items)}

    def uses(self, item: Item) -> list[Use]:
        """Bindings and uses of names in an item."""
        local = _bindings(item)
        scope = self._scope(item)
        bound = [(binding.name, binding.place) for binding in (name_of(item), *local.values())]
        return [self._use(name, place, local, scope) for name, place in [*bound, *names_in(item)]]

    def _scope(self, item: Item) -> Mapping[str, Value]:
        return self._found.scopes.get(name_of(item).name, {}) if isinstance(item, Function) else self._found.dims

    def _use(self, name: str, place: SourceRange, local: Mapping[str, Binding], scope: Mapping[str, Value]) -> Use:
        item = self._global.get(name)
        binding = local.get(name) or (None if item is None else name_of(item))
        target = None if binding is None else Target(_range(binding.place))
        return Use(_range(place), lambda: code("irc", self._text(name, name in local, scope)), target)

    def _text(self, name: str, is_local: bool, scope: Mapping[str, Value]) -> str:
        item = self._global.get(name)
        if is_local or item is None:
            if name in scope:
                return f"{name}: {self._found.describe(scope[name])}"
            return BUILTINS[name].signature if name in BUILTINS else TRANSFORMS.get(name, name)
        if isinstance(item, Function):
            return self._signature(item)
        value = self._found.dims.get(name)
        is_known = isinstance(value, Number) and value.kind != "extent"
        return f"dim {name} = {value}" if is_known else self._line(item)

    def _line(self, item: Binding) -> str:
        return self._lines[item.place[0] - 1].strip()

    def _signature(self, item: Function) -> str:
        """The text before the body."""
        line, column, *_ = item.name.place
        rest = "\n".join([self._lines[line - 1][column - 1 :], *self._lines[line:]])
        return "func " + " ".join(rest.partition("{")[0].split())

    def symbol(self, item: Item) -> Symbol:
        binding = name_of(item)
        where = _range(binding.place)
        if not isinstance(item, Function):
            return Symbol(binding.name, "constant", where, where, self._line(item))
        scope = self._scope(item)
        children = tuple(
            Symbol(
                each.name,
                "variable",
                _range(each.place),
                _range(each.place),
                self._found.describe(scope[each.name]) if each.name in scope else "",
            )
            for each in sorted(_bindings(item).values(), key=lambda binding: binding.place)
        )
        whole = Range(where.line, where.column, item.end[2], item.end[3])
        return Symbol(binding.name, "function", whole, where, self._signature(item), children)


def _bindings(item: Item) -> dict[str, Binding]:
    """The names that a function binds, each where it is bound first."""
    if not isinstance(item, Function):
        return {}
    targets = [target for each in item.body if isinstance(each, Assignment) for target in each.targets]
    return {binding.name: binding for binding in reversed([*item.parameters, *targets])}


def _range(place: SourceRange) -> Range:
    return Range(*place)
