"""Donated arguments: those whose memory a result is written to. They are attributes of a function's arguments,
`{irc.donated = 1}` for the one that becomes result 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

DONATED = "irc.donated"


def donate(function: FuncOp, arguments: Sequence[int]) -> None:
    """Donates arguments, by their numbers: the first of a type to the first result of that type, and so on. IrcError
    where there are not as many results."""
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64

    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    known = function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({}) for _ in inputs]
    free = [index for index in range(len(outputs)) if index not in donations(function)]
    attributes = list(known)
    for argument in arguments:
        if not 0 <= argument < len(inputs):
            raise IrcError(f"cannot donate argument {argument} of {len(inputs)}", function.location)
        result = next((index for index in free if outputs[index] == inputs[argument]), None)
        if result is None:
            raise IrcError(
                f"argument {argument} is donated, and no result of its type {inputs[argument]} is left",
                function.location,
                "donate arguments whose new value the function returns",
            )
        free.remove(result)
        attributes[argument] = DictionaryAttr({**known[argument].data, DONATED: IntegerAttr(result, i64)})
    function.arg_attrs = ArrayAttr(attributes)


def donations(function: FuncOp) -> dict[int, int]:
    """The number of the donated argument by the number of the result that is written to its memory. IrcError where an
    attribute says something else."""
    from xdsl.dialects.builtin import IntegerAttr

    found: dict[int, int] = {}
    types = function.function_type
    for argument, attributes in enumerate(function.arg_attrs.data if function.arg_attrs is not None else ()):
        attribute = attributes.data.get(DONATED)
        if attribute is None:
            continue
        result = attribute.value.data if isinstance(attribute, IntegerAttr) else -1
        if not 0 <= result < len(types.outputs) or result in found:
            raise IrcError(
                f"{DONATED} of argument {argument}: expected a result of its own, found {attribute}", function.location
            )
        if types.outputs.data[result] != types.inputs.data[argument]:
            raise IrcError(
                f"{DONATED} of argument {argument}: expected a result of its type, found number {result}",
                function.location,
            )
        found[result] = argument
    return found
