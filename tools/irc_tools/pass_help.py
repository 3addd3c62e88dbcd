"""What passes do and which options they take, read from their source files without importing them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from irc.driver.pipelines import PASSES, PIPELINES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from irc.ir.passes import Invariant

COMMON_OPTIONS = {
    "strict-rounding": "Round after every operation, as eager frameworks do.",
}
"""What options mean that several passes have; a docstring after the field goes before it."""


@dataclass(frozen=True)
class OptionHelp:
    """An option of a pass: its name as in a pass list (`max-rank`), type and default as written, and what it does."""

    name: str
    type: str
    default: str | None
    text: str

    def signature(self) -> str:
        """`name: type = default`."""
        return f"{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")


@dataclass(frozen=True)
class PassHelp:
    """A pass, the docstring of its class (or of its module where that has none), and its options in order."""

    name: str
    text: str
    options: tuple[OptionHelp, ...]

    @property
    def summary(self) -> str:
        """The first paragraph."""
        return " ".join(self.text.split("\n\n")[0].split())


@cache
def pass_help(name: str) -> PassHelp:
    """The help of one of irc's passes (KeyError where there is no pass of that name)."""
    module_name, _, class_name = PASSES[name].partition(":")
    path = _source(module_name)
    if path is None:
        return PassHelp(name, "(not in this installation)", ())
    module = ast.parse(_until_end(path.read_text(encoding="utf-8"), class_name))
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            text = ast.get_docstring(node) or ast.get_docstring(module) or ""
            return PassHelp(name, text, tuple(_options(node, _constants(module))))
    return PassHelp(name, ast.get_docstring(module) or "", ())


def _until_end(text: str, class_name: str) -> str:
    """The text of a module up to the end of a class: what comes behind takes longer to parse than all else."""
    begin = text.find(f"\nclass {class_name}(") + 1
    end = re.compile(r"^\S", re.MULTILINE).search(text, begin + 1) if begin else None
    return text if end is None else text[: end.start()]


def _source(module_name: str) -> Path | None:
    package, _, rest = module_name.partition(".")
    root = find_spec(package)
    if root is None or not root.submodule_search_locations:
        return None
    path = Path(root.submodule_search_locations[0], *rest.split(".")).with_suffix(".py")
    return path if path.is_file() else None


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """The module's constants by name; those that it imports are looked up where they are defined."""
    found = _assigned(module)
    for statement in module.body:
        if isinstance(statement, ast.ImportFrom) and (path := _source(statement.module or "")) is not None:
            wanted = [alias for alias in statement.names if alias.name.isupper()]
            there = _assigned(ast.parse(path.read_text(encoding="utf-8"))) if wanted else {}
            found |= {alias.asname or alias.name: there[alias.name] for alias in wanted if alias.name in there}
    return found


def _assigned(module: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            found[statement.target.id] = statement.value
    return found


def _options(node: ast.ClassDef, constants: dict[str, ast.expr]) -> list[OptionHelp]:
    """The dataclass fields of a pass."""
    found: list[OptionHelp] = []
    for field, text in fields_of(node):
        assert isinstance(field.target, ast.Name)
        default = None if field.value is None else _default(field.value, constants)
        name = field.target.id.replace("_", "-")
        found.append(OptionHelp(name, ast.unparse(field.annotation), default, text or COMMON_OPTIONS.get(name, "")))
    return found


def fields_of(node: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str]]:
    """The fields of a dataclass, and the string after each, in one line."""
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if not ast.unparse(statement.annotation).startswith("ClassVar"):
            yield statement, _text(following)


def _default(value: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(value, ast.Name):
        value = constants.get(value.id, value)
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return str(value.value).lower()
    return ast.unparse(value).replace("'", '"')


def _text(statement: ast.stmt | None) -> str:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return ""
    value = statement.value.value
    return " ".join(value.split()) if isinstance(value, str) else ""


def explain_passes() -> str:
    """All passes of irc in the order in which they run, with their options, for `--help`."""
    return "\n".join(_explain(pass_help(name)) for name in PASSES)


def _explain(entry: PassHelp) -> str:
    lines = [f"  {entry.name}", *_wrapped(entry.summary, 6)]
    for option in entry.options:
        lines += [f"      {{{option.signature()}}}", *_wrapped(option.text, 10)]
    return "\n".join(lines)


def _wrapped(text: str, indent: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 100, initial_indent=" " * indent, subsequent_indent=" " * indent)


def invariants_of(name: str) -> tuple[tuple[Invariant, ...], tuple[Invariant, ...]]:
    """What one of irc's passes requires and what it establishes."""
    from irc.driver.universe import resolve

    cls = resolve(PASSES[name])
    return cls.requires, cls.establishes


def list_passes(available: Iterable[str]) -> str:
    """A line for each pass: irc's in their order, with what they require and establish, then the others' names."""
    width = max(map(len, PASSES))
    lines = [f"{name:<{width}}  {_relied_on(name)}".rstrip() for name in PASSES]
    return "\n".join([*lines, *sorted({*available, *PIPELINES} - set(PASSES))])


def _relied_on(name: str) -> str:
    requires, establishes = (", ".join(each.name for each in part) for part in invariants_of(name))
    parts = [f"requires {requires}" if requires else "", f"establishes {establishes}" if establishes else ""]
    return "; ".join(filter(None, parts))
