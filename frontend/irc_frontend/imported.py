"""A program that comes from elsewhere: its arguments, its results, and the arrays that it brings along."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import SSAValue

from irc.ir.discardable import ARGUMENT_NAME
from irc.ir.functions import entry_of
from irc.support.diagnostics import IrcError
from irc_frontend.build import build_module
from irc_frontend.evaluation import current_autotune, current_target, evaluate, target
from irc_frontend.graph import ARGUMENT, LEAF, Node, sorted_nodes
from irc_frontend.leaves import as_given, placed

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.runtime.executable import Executable
    from irc.support.extents import Dim as KnownDim


@dataclass(frozen=True)
class Imported:
    """A program as `nd`, whatever it was written in. Called with its inputs, by position or by name, it gives its
    results: one, or a tuple.

    inputs: what a call gives, by name; weights: arrays that the program brings along, which are arguments of its nd
    function behind the inputs; outputs: the names of the results. Names are those of the program as identifiers.
    """

    inputs: Mapping[str, Node]
    weights: Mapping[str, Node]
    outputs: Mapping[str, Node]
    dims: Sequence[KnownDim] = ()
    _compiled: dict[Any, Executable] = field(default_factory=dict[Any, Any], repr=False, compare=False)

    @cached_property
    def module(self) -> ModuleOp:
        """The module of its nd function: the inputs, then the weights. It is not to be changed."""
        from irc.ir.extents import declare_dims

        arguments = {**self.inputs, **self.weights}
        leaves, roots = list(arguments.values()), list(self.outputs.values())
        module = build_module(sorted_nodes([*leaves, *roots]), roots, leaves)
        function = entry_of(module)
        hints = [SSAValue.extract_valid_name(name) or None for name in arguments]  # it cuts off `_1`
        for argument, hint in zip(function.body.block.args, hints, strict=True):
            argument.name_hint = hint
        attributes = (
            DictionaryAttr({} if name == hint else {ARGUMENT_NAME: StringAttr(name)})
            for name, hint in zip(arguments, hints, strict=True)
        )
        function.arg_attrs = ArrayAttr(attributes)
        declare_dims(module, list(self.dims))
        return module

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The values of the weights, by name."""
        return {name: node.known for name, node in self.weights.items()}

    def executable(self) -> Executable:
        """The program on the current target; it takes the inputs and the weights."""
        import irc

        key = current_target()
        if key not in self._compiled:
            self._compiled[key] = irc.compile(self.module, key, autotune=current_autotune())
        return self._compiled[key]

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        given = self._given(arrays, named)
        executable = self.executable()
        values = placed([*given, *(node.known for node in self.weights.values())], executable.target)
        results: Any = executable(*values)
        if isinstance(results, tuple):
            return tuple(as_given(each, given) for each in results)  # pyright: ignore[reportUnknownVariableType]
        return as_given(results, given)

    def _given(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        names = list(self.inputs)
        if unknown := [name for name in named if name not in names[len(arrays) :]]:
            raise IrcError(f"no input {unknown[0]} is left to give", hint=f"inputs are {', '.join(names)}")
        found = dict(zip(names, arrays, strict=False)) | dict(named)
        if len(arrays) > len(names) or len(found) != len(names):
            raise IrcError(
                f"expected {len(names)} inputs, found {len(arrays) + len(named)}", hint=f"inputs are {', '.join(names)}"
            )
        return [found[name] for name in names]


def imported(
    inputs: Mapping[str, Node],
    outputs: Mapping[str, Node],
    names: Mapping[Node, str],
    dims: Sequence[KnownDim] = (),
) -> Imported:
    """The program of recorded results. What depends on no input is computed now, as numpy does it, unless it is more
    than it is computed of: it is a weight, or a constant where all elements are equal. names: of nodes, as the program
    has them; those of weights are kept."""
    fixed = _fixed_nodes(list(outputs.values()))
    named = {node: _name_of(node, names) for node in fixed}
    with target("interpret"):
        evaluate(fixed)
    weights = [node for node in fixed if not _is_constant(node)]
    known = identifiers([*inputs, *(named[node] for node in weights)])
    results = identifiers(outputs)
    return Imported(
        dict(zip(known, inputs.values(), strict=False)),
        dict(zip(known[len(inputs) :], weights, strict=True)),
        dict(zip(results, outputs.values(), strict=True)),
        dims,
    )


def _name_of(node: Node, names: Mapping[Node, str]) -> str:
    """The name of a node, or of what it is computed of first."""
    while node not in names and node.operands:
        node = node.operands[0]
    return names.get(node, "constant")


def _fixed_nodes(roots: Sequence[Node]) -> list[Node]:
    """The nodes that have a value or get one, and that others, or nobody, read."""
    order = sorted_nodes(roots)
    made: set[Node] = set()
    """Those that depend on nothing."""
    fixed: set[Node] = set()
    for node in order:
        if node.op == LEAF:
            fixed.add(node)
        elif node.op == ARGUMENT:
            continue
        elif made.issuperset(node.operands):
            made.add(node)
        elif all(each in made or each in fixed for each in node.operands) and _is_no_more(node, fixed):
            fixed.add(node)
    used = {operand for node in order if node not in fixed for operand in node.operands} | set(roots)
    return [node for node in order if node in fixed and node in used]


def _is_no_more(node: Node, fixed: set[Node]) -> bool:
    """Whether an array is no larger than the largest that it is computed of."""
    return prod(node.shape) <= max((prod(each.shape) for each in node.operands if each in fixed), default=0)


def _is_constant(node: Node) -> bool:
    """Whether all elements of a leaf are equal: then it becomes a constant."""
    array = node.known
    if not array.size or not (array == array.flat[0]).all():
        return False
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    if not (bits == bits[0]).all():  # zeros of both signs
        return False
    value = array.flat[0]
    number = bool(value) if node.is_bool else int(value) if node.is_integer else float(value)
    node.op, node.attributes, node.value = "constant", (("value", number),), None
    return True


_RESERVED = frozenset("dim func return true false inf nan None donate".split())


def identifiers(names: Iterable[str]) -> list[str]:
    """The names as identifiers that are all different."""
    found: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() or plain in _RESERVED else plain
        unique, number = plain, 1
        while unique in found:
            unique, number = f"{plain}_{number}", number + 1
        found[unique] = None
    return list(found)
