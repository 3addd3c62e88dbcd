"""A module's entry function as a recorded graph; its calls are inlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from irc.support.diagnostics import IrcError, register_source
from irc.support.files import read_text
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.imported import Imported, imported
from irc_frontend.place import recording
from irc_frontend.stablehlo.control_flow import CONTROL
from irc_frontend.stablehlo.ops import RULES
from irc_frontend.stablehlo.syntax import Body, Function, Op, Type, parse
from irc_frontend.tensor import Tensor

MAX_CALLS = 32
"""Calls inside one another."""


def load(program: str | Path, name: str = "<stablehlo>") -> Imported:
    """The program of a module as text, or in a file: its function `main`, or the last that is public.

    Raises IrcError at the line of what irc does not have: an op, an element type, a shape that is not static."""
    if isinstance(program, Path):
        program, name = read_text(program), str(program)
    register_source(name, program)
    functions = parse(program, name)
    public = [each for each in functions.values() if not each.is_private] or list(functions.values())
    entry = functions.get("@main", public[-1])
    inputs = {text.lstrip("%"): Node(ARGUMENT, (), type.shape, type.element) for text, type in entry.arguments}
    results = _Recorder(functions).body(entry, [Tensor.of(node) for node in inputs.values()], {}, 0)
    return imported(inputs, {f"result_{number}": each.node for number, each in enumerate(results)}, {})


class _Recorder:
    """Records functions of a module."""

    def __init__(self, functions: dict[str, Function]):
        self._functions = functions

    def body(self, body: Body, given: Sequence[Tensor], around: Mapping[str, Tensor], depth: int) -> list[Tensor]:
        """What a function or a region gives for these arguments. around: the values that a region sees."""
        arguments = zip((name for name, _ in body.arguments), given, strict=True)
        known = {**around, **dict(arguments)}
        for op in body.ops:
            operands = [self._operand(op, name, known) for name in op.operands]
            if op.name in ("return", "func.return", "stablehlo.return"):
                return operands
            with recording(op.span):
                known.update(zip(op.results, self._results(op, operands, known, depth), strict=True))
        raise IrcError("a function without a return", body.ops[-1].span if body.ops else None)

    def _operand(self, op: Op, name: str, known: dict[str, Tensor]) -> Tensor:
        found = known.get(name) or known.get(f"{name}#0") if name not in known else known[name]
        if found is None:
            raise IrcError(f"{name} is not defined before", op.span)
        return found

    def _results(self, op: Op, operands: list[Tensor], known: Mapping[str, Tensor], depth: int) -> list[Tensor]:
        try:
            found = self._recorded(op, operands, known, depth)
        except IrcError as error:
            if error.location is None:
                error.location = op.span
            raise
        except (AttributeError, TypeError, KeyError, ValueError, IndexError) as error:
            raise IrcError(f"{op.name} has not the operands and attributes that it takes: {error}", op.span) from error
        if len(found) != len(op.results) or len(found) > len(op.types):
            texts = f"the text has {len(op.results)} names and {len(op.types)} types"
            raise IrcError(f"{op.name} gives {len(found)} results, {texts}", op.span)
        for result, type in zip(found, op.types[-len(found) :], strict=True):
            if Type(result.shape, result.element) != type:
                raise IrcError(
                    f"{op.name} gives {result.node.type}, the text says {type.element}{list(type.shape)}", op.span
                )
        return found

    def _recorded(self, op: Op, operands: list[Tensor], known: Mapping[str, Tensor], depth: int) -> list[Tensor]:
        op = _opened(op)
        if op.name in ("call", "func.call"):
            callee = op.words[0] if op.words else f"@{str(op.attrs['callee']).lstrip('@')}"
            if callee not in self._functions:
                raise IrcError(f"the module has no function {callee}", op.span)
            if depth >= MAX_CALLS:
                raise IrcError(f"calls are nested {MAX_CALLS} deep", op.span)
            return self.body(self._functions[callee], operands, {}, depth + 1)
        if (control := CONTROL.get(op.name)) is not None:
            return control(op, operands, lambda region, given: self.body(region, given, known, depth))
        if (rule := RULES.get(op.name)) is None:
            raise IrcError(f"irc has no op {op.name}", op.span, "docs/stablehlo.md has those that it has")
        found = rule(op, *operands)
        return [found] if isinstance(found, Tensor) else list(found)


def _opened(op: Op) -> Op:
    """A composite as the op of its name, where irc has that, else as the call of its decomposition."""
    if op.name != "stablehlo.composite":
        return op
    name = op.words[0] if op.words else str(op.attrs["name"])
    if name in RULES:
        return replace(op, name=name, words=[], attrs=op.attrs.get("composite_attributes", {}))
    return replace(op, name="call", words=[str(op.attrs["decomposition"])])
