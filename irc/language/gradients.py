"""`grad(f, wrt=[x])` and `value_and_grad(f, wrt=[x])`: functions made of functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp

from irc.language.builder import MAX_OPS, Builder, called_from
from irc.language.signature import Signature
from irc.language.syntax import Call, SourceRange
from irc.language.values import suggestion, type_text
from irc.support.diagnostics import IrcError

TRANSFORMS: dict[str, str] = {
    "grad": "grad(f, wrt=[x])",
    "value_and_grad": "value_and_grad(f, wrt=[x])",
}
"""Names of functions of functions, and how they are written."""


def derived(builder: Builder, function: Signature, wrt: Sequence[tuple[str, SourceRange]], node: Call) -> Signature:
    """The function of the same parameters that returns the gradients of the first result of `function`, which is one
    float, with respect to the parameters `wrt`; of `value_and_grad` all results of `function` first."""
    from irc.autodiff.reverse_mode import differentiate

    shape, element = function.results[0]
    if shape or not element.is_float:
        message = f"cannot differentiate {function.name}: its first result is {type_text(shape, element)}"
        raise builder.error(message, node.place, "a gradient is of one float, such as f32[]")
    numbers = _numbers(builder, function, wrt, node)
    original = function.block.parent_op()
    assert isinstance(original, FuncOp)
    copy = original.clone()
    with_values = node.function == "value_and_grad"
    try:
        differentiate(copy, numbers, values=with_values)
    except IrcError as error:
        if isinstance(error.location, LocationAttr):
            error.location = called_from(error.location, builder.location(node.place))
        raise
    if sum(1 for _ in copy.body.block.ops) > MAX_OPS:
        raise builder.error(f"the gradient has more than {MAX_OPS} operations", node.place)
    gradients = [function.parameters[i][1:] for i in numbers]
    return Signature(
        f"{node.function}({function.name})",
        function.parameters,
        (*(function.results if with_values else ()), *gradients),
        copy.body.block,
    )


def _numbers(builder: Builder, function: Signature, wrt: Sequence[tuple[str, SourceRange]], node: Call) -> list[int]:
    """The positions of the parameters that are differentiated."""
    names = [name for name, _, _ in function.parameters]
    found: list[int] = []
    for name, place in wrt:
        if name not in names:
            hint = suggestion(name, names) or f"its parameters are {', '.join(names)}"
            raise builder.error(f"{function.name} has no parameter {name}", place, hint)
        if (index := names.index(name)) in found:
            raise builder.error(f"{name} is named twice", place)
        _, shape, element = function.parameters[index]
        if not element.is_float:
            message = f"cannot differentiate with respect to {name}: {type_text(shape, element)}"
            raise builder.error(message, place, "gradients are with respect to floats")
        found.append(index)
    if not found:
        raise builder.error("wrt names no parameter", node.place, f"its parameters are {', '.join(names)}")
    return found
