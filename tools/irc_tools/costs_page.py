"""`docs/costs.md`: what passes weigh, by architecture (`irc/ir/target_costs.py`)."""

from __future__ import annotations

import ast
from inspect import cleandoc, getsource
from typing import Any

from irc.ir import target_costs
from irc.ir.targets import CPU, TARGETS
from irc_tools.pass_help import fields_of

NAMES = [*(each.name for each in TARGETS), CPU.name]


def costs_page() -> str:
    """The page without its header."""
    costs = [each.costs for each in (*TARGETS, CPU)]
    parts: dict[str, list[Any]] = {
        "Costs": costs,
        "OperandCosts": [each.operand for each in costs],
        "WindowCosts": [each.windows for each in costs],
        "WarpGroupCosts": [each.warp_groups for each in costs],
        "CascadeCosts": [each.cascades for each in costs],
        "KernelCosts": [each.kernels for each in costs],
        "AccessCosts": [each.accesses for each in costs],
    }
    module = ast.parse(getsource(target_costs))
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    lines = ["# What passes weigh\n", cleandoc(target_costs.__doc__ or ""), ""]
    for name, values in parts.items():
        lines += [f"## `{name}`\n", ast.get_docstring(classes[name]) or "", "", *_table(classes[name], values), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(node: ast.ClassDef, values: list[Any]) -> list[str]:
    """Rows of fields; one column of numbers where they are the same for all architectures."""
    same = all(each == values[0] for each in values)
    columns = ["field", *(["all"] if same else NAMES), ""]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for field, text in fields_of(node):
        name = ast.unparse(field.target)
        numbers = [getattr(each, name) for each in (values[:1] if same else values)]
        if not any(type(number).__module__ == target_costs.__name__ for number in numbers):
            lines.append(f"| `{name}` | {' | '.join(map(_shown, numbers))} | {text} |")
    return lines


def _shown(number: Any) -> str:
    if number is None:
        return ""
    if isinstance(number, tuple):
        return ", ".join(map(_shown, number))
    return str(number) if isinstance(number, int) else f"{number:.3g}".replace("e+0", "e")
