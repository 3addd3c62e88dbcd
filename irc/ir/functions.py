"""The function of a module that is compiled."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.support.diagnostics import IrcError


def entry_of(module: ModuleOp, func: str | None = None) -> FuncOp:
    """The function that is compiled: the named one, else the last. IrcError where there is none or it has no body."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    if func is not None:
        functions = [op for op in functions if op.sym_name.data == func]
    if not functions:
        plan = next((op for op in module.ops if op.name == "host.plan"), None)
        if plan is not None:
            raise IrcError("the program is a host plan already", plan.location, "take the IR before build-host-plan")
        raise IrcError("the program has no function" if func is None else f"the program has no function named {func}")
    if functions[-1].is_declaration:
        raise IrcError(f"function {functions[-1].sym_name.data} has no body", functions[-1].location)
    return functions[-1]
