"""irc-docs: writes the reference pages `docs/dialects/*.md`, `docs/passes.md`, `docs/attributes.md`,
`docs/elementwise.md`, `docs/costs.md` and `docs/api.md` from the definitions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    OptOperandDef,
    OptRegionDef,
    OptResultDef,
    ParamAttrConstraint,
    VarOperandDef,
    VarRegionDef,
    VarResultDef,
)

from irc.dialects import nd
from irc.dialects.nd.table import ROWS, Row
from irc.driver.pipelines import DIALECTS, PASSES, PIPELINE_HELP, PIPELINES
from irc.driver.universe import resolve
from irc.ir import discardable
from irc.language.functions import BUILTINS
from irc.support.diagnostics import IrcError
from irc.support.files import make_directory, read_text, write_text
from irc_tools.api_page import api_page
from irc_tools.costs_page import costs_page
from irc_tools.errors import guarded
from irc_tools.pass_help import PassHelp, invariants_of, pass_help

ELEMENTWISE = cleandoc("""
    What `irc/dialects/nd/table.py` knows of each op. The operands have one shape, and an element of the result is a
    function of their elements at the same place. f16, bf16 and f8 are computed in f32. `relaxed`: where the result is
    declared narrow, a kernel may use a function that is off by up to about 2 ** -20. `decomposed`: decompose-nd
    replaces it by others. `ATen`: the op of PyTorch that means the same.
""")
HEADER = "<!-- Written by `make docs` from the definitions: change those instead. -->\n\n"


def pages() -> dict[str, str]:
    """The text of every generated page by its path under `docs/`."""
    found = {f"dialects/{name}.md": dialect_page(name) for name in DIALECTS}
    found["passes.md"] = passes_page()
    found["attributes.md"] = attributes_page()
    found["elementwise.md"] = elementwise_page()
    found["costs.md"] = HEADER + costs_page()
    found["api.md"] = HEADER + api_page()
    return found


def attributes_page() -> str:
    """The discardable attributes, by what carries them."""
    text = cleandoc(discardable.__doc__ or "")
    columns = ["attribute", "of", "value", "says", "written by", "read by"]
    lines = ["# Discardable attributes\n", text, "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for each in (*discardable.DISCARDABLE.values(), *discardable.OF_ARGUMENTS.values()):
        cells = (f"`{each.name}`", each.on, each.value, each.says, each.written, each.read)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return HEADER + "\n".join(lines) + "\n"


def elementwise_page() -> str:
    """The table of elementwise ops."""
    columns = ["op", "in the language", "takes", "gives", "", "gradient", "cost", "relaxed", "decomposed", "ATen"]
    lines = ["# Elementwise ops\n", ELEMENTWISE, "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for op, row in ROWS.items():
        cells = (
            f"`{row.name}`",
            " ".join(f"`{spelling}`" for spelling in _spellings(row)),
            "bool, any, any" if op is nd.WhereOp else row.op.TAKES.name,
            "bool" if row.op.IS_TEST else "the same",
            _docstring(op).splitlines()[0],
            "yes" if row.gradient is not None else "",
            row.cost.name.lower(),
            "yes" if row.is_relaxable else "",
            "yes" if row.decomposition is not None else "",
            f"`{row.aten}`" if row.aten else "",
        )
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return HEADER + "\n".join(lines) + "\n"


def _spellings(row: Row) -> list[str]:
    builtin = BUILTINS.get(row.name)
    function = [builtin.signature] if builtin is not None else []
    if not row.symbol:
        return function
    return [f" {row.symbol} ".join(row.parameters) if len(row.parameters) == 2 else f"{row.symbol}x", *function]


def passes_page() -> str:
    """The passes in order with their options, and the named pipelines."""
    lines = [
        "# Passes\n",
        "In the order in which the named pipelines run them. `irc-opt FILE -p 'first,second{option=1}'` runs some.\n",
    ]
    lines += ["## Named pipelines\n", "| pipeline | result | passes |", "|---|---|---|"]
    for name, passes in PIPELINES.items():
        lines.append(f"| `{name}` | {PIPELINE_HELP[name]} | {', '.join(passes)} |")
    lines.append("")
    for name in PASSES:
        lines += _pass_lines(pass_help(name))
    return HEADER + "\n".join(lines).rstrip() + "\n"


def _pass_lines(entry: PassHelp) -> list[str]:
    lines = [f"## {entry.name}\n", entry.text.strip(), ""]
    requires, establishes = invariants_of(entry.name)
    if requires:
        lines += [f"Requires that {'; '.join(f'{each.text} (*{each.name}*)' for each in requires)}.", ""]
    if establishes:
        lines += [f"Establishes that {'; '.join(f'{each.text} (*{each.name}*)' for each in establishes)}.", ""]
    if not entry.options:
        return lines
    lines += ["| option | type | default | |", "|---|---|---|---|"]
    for option in entry.options:
        default = "" if option.default is None else f"`{option.default}`"
        lines.append(f"| `{option.name}` | `{_cell(option.type)}` | {default} | {_cell(option.text)} |")
    return [*lines, ""]


def dialect_page(name: str) -> str:
    """The ops and attributes of a dialect, by the file that defines them."""
    dialect: Dialect = resolve(DIALECTS[name])
    package = DIALECTS[name].partition(":")[0]
    lines = [f"# The {name} dialect\n", cleandoc(import_module(package).__doc__ or ""), ""]
    modules: dict[str, tuple[list[type[Operation]], list[type[Attribute]]]] = {}
    for attribute in dialect.attributes:
        modules.setdefault(attribute.__module__, ([], []))[1].append(attribute)
    for op in dialect.operations:
        modules.setdefault(op.__module__, ([], []))[0].append(op)
    for module, (ops, attributes) in modules.items():
        lines += _module_lines(package, module)
        for attribute in attributes:
            lines += _attribute_lines(attribute)
        for op in ops:
            lines += _op_lines(op)
    return HEADER + "\n".join(lines).rstrip() + "\n"


def _module_lines(package: str, module: str) -> list[str]:
    if module == package:
        return []
    text = cleandoc(import_module(module).__doc__ or "")
    title, _, rest = text.partition("\n\n")
    lines = [f"## {module.rsplit('.', 1)[-1].replace('_', ' ')}\n", title, ""]
    return [*lines, rest, ""] if rest else lines


def _attribute_lines(attribute: type[Attribute]) -> list[str]:
    sigil = "!" if issubclass(attribute, TypeAttribute) else "#"
    lines = [f"### `{sigil}{attribute.name}`\n", _docstring(attribute), ""]
    if not issubclass(attribute, ParametrizedAttribute):
        return lines
    parameters = attribute.get_irdl_definition().parameters
    rows = [f"| `{name}` | {_constraint(p.constr)} |" for name, p in parameters]
    return [*lines, "| parameter | |", "|---|---|", *rows, ""] if rows else lines


def _op_lines(op: type[Operation]) -> list[str]:
    lines = [f"### `{op.name}`\n", _docstring(op), ""]
    if not issubclass(op, IRDLOperation):
        return lines
    definition = op.get_irdl_definition()
    if definition.assembly_format is not None:
        lines += ["```text", f"{op.name} {' '.join(definition.assembly_format.split())}", "```", ""]
    rows: list[str] = []
    for name, operand in definition.operands:
        many = _how_many(operand, VarOperandDef, OptOperandDef)
        rows.append(f"| operand | `{name}` | {many}{_constraint(operand.constr)} |")
    for name, result in definition.results:
        rows.append(
            f"| result | `{name}` | {_how_many(result, VarResultDef, OptResultDef)}{_constraint(result.constr)} |"
        )
    for name, entry in definition.properties.items():
        rows.append(f"| property | `{name}` | {_optional(entry)}{_constraint(entry.constr)} |")
    for name, entry in definition.attributes.items():
        rows.append(f"| attribute | `{name}` | {_optional(entry)}{_constraint(entry.constr)} |")
    for name, region in definition.regions:
        rows.append(f"| region | `{name}` | {_how_many(region, VarRegionDef, OptRegionDef).strip()} |")
    traits = sorted({type(trait).__name__ for trait in op.traits})
    if traits:
        rows.append(f"| traits | | {', '.join(traits)} |")
    return [*lines, "| | | |", "|---|---|---|", *rows, ""] if rows else lines


def _how_many(entry: object, variadic: type, optional: type) -> str:
    if isinstance(entry, optional):
        return "optional "
    return "any number of " if isinstance(entry, variadic) else ""


def _optional(entry: object) -> str:
    return "optional " if isinstance(entry, OptionalDef) else ""


def _constraint(constraint: object) -> str:
    """A constraint in words, as far as there are any; constraints in ranges are those of their elements."""
    inner = getattr(constraint, "constr", None)
    if inner is not None:
        return _constraint(inner)
    if isinstance(constraint, AnyAttr):
        return "any"
    if isinstance(constraint, BaseAttr | ParamAttrConstraint):
        base = constraint.attr if isinstance(constraint, BaseAttr) else constraint.base_attr
        return f"`{getattr(base, 'name', base.__name__)}`"
    if isinstance(constraint, EqAttrConstraint):
        return f"`{_cell(str(constraint.attr))}`"
    if isinstance(constraint, AnyOf):
        return " or ".join(_constraint(part) for part in constraint.attr_constrs)
    return ""


def _docstring(cls: type) -> str:
    """The docstring of the class itself; a dataclass's generated one (its signature) does not count."""
    text = cls.__dict__.get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else cleandoc(text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def stale(folder: Path) -> list[str]:
    """The generated pages under `folder` that are not what the definitions give."""
    outdated: list[str] = []
    for name, text in pages().items():
        path = folder / name
        if not path.is_file() or read_text(path) != text:
            outdated.append(name)
    return outdated


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-docs", lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="irc-docs", description="Writes the reference pages from the definitions.")
    parser.add_argument("-o", "--output", default="docs", metavar="DIR", help="the folder of the pages (default: docs)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is out of date")
    args = parser.parse_args(arguments)
    folder = Path(args.output)
    if args.check:
        if outdated := stale(folder):
            raise IrcError(f"out of date: {', '.join(outdated)}", None, "`make docs` writes them")
        return 0
    for name, text in pages().items():
        make_directory((folder / name).parent)
        write_text(folder / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
