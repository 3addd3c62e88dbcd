"""docs/api.md: what `irc_frontend` has, from its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, cleandoc
from types import ModuleType
from typing import Any

import irc_frontend as ir
from irc_frontend import nn, optim
from irc_frontend.at import Place
from irc_frontend.function_methods import FunctionMethods
from irc_frontend.reduction_methods import Reductions

INTRODUCTION = cleandoc("""
    # irc_frontend, name by name

    [arrays.md](arrays.md) introduces arrays, [kernels.md](kernels.md) kernels, [training.md](training.md) layers and
    optimizers. Functions that numpy has are numpy's, on Tensors, where nothing else is said.
""")

ROOMS: dict[str, tuple[ModuleType, str]] = {
    "Making arrays": (ir.making_functions, "ir"),
    "Elementwise functions": (ir.elementwise_functions, "ir"),
    "Comparisons and truth values": (ir.logic_functions, "ir"),
    "Reductions, scans, sorts": (ir.reduction_functions, "ir"),
    "Moving and indexing": (ir.functions, "ir"),
    "Parts at computed places": (ir.indexing_functions, "ir"),
    "Rearranging": (ir.arrangement_functions, "ir"),
    "Products and convolutions": (ir.linear_functions, "ir"),
    "An operation object for products": (ir.product_operation, "ir"),
    "Linear algebra": (ir.linalg, "ir.linalg"),
    "Windows": (ir.window_functions, "ir"),
    "Attention": (ir.attention_functions, "ir"),
    "Attention of packed sequences": (ir.packed_functions, "ir"),
    "Gradients": (ir.gradients, "ir"),
    "Gradients of one's own": (ir.custom_gradients, "ir"),
    "Functions of functions": (ir.transforms, "ir"),
    "Loops and branches": (ir.control_flow, "ir"),
    "Trees": (ir.pytrees, "ir"),
    "Kernels": (ir.kernels, "ir"),
    "Batches of data": (ir.data, "ir.data"),
    "Layers": (nn, "nn"),
    "Optimizers": (optim, "optim"),
}


_INNER = frozenset(["node", "of", "become"])
"""What other parts of irc use of a Tensor."""


def api_page() -> str:
    """Every public name, with its arguments and its docstring."""
    parts = [INTRODUCTION, "## Tensor", _text(ir.Tensor), *_methods(ir.Tensor, "x")]
    parts += [*_methods(Reductions, "x"), *_methods(FunctionMethods, "x")]
    parts += ["## x.at[key]", _text(Place), *_methods(Place, "x.at[key]")]
    parts += ["## Programs", *(_entry(f"ir.{name}", getattr(ir, name)) for name in _of_programs())]
    for title, (room, prefix) in ROOMS.items():
        parts += [f"## {title}", _text(room)]
        parts += [_entry(f"{prefix}.{name}", getattr(room, name)) for name in room.__all__]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return re.sub(r"(^- .*\n)\n(?=- )", r"\1", text, flags=re.MULTILINE)


def _of_programs() -> list[str]:
    """Names of the package that no room has."""
    taken = {name for room, prefix in ROOMS.values() if prefix == "ir" for name in room.__all__}
    return [
        name
        for name in ir.__all__
        if name not in taken and name != "Tensor" and not inspect.ismodule(getattr(ir, name))
    ]


def _methods(cls: type, prefix: str) -> Iterator[str]:
    """The methods and properties that have a name of their own."""
    for name, found in vars(cls).items():
        if name.startswith("_") or name in _INNER:
            continue
        if isinstance(found, property):
            yield _entry(f"{prefix}.{name}", found)
        elif callable(found):
            yield _entry(f"{prefix}.{name}", found, of_method=True)


def _entry(name: str, value: Any, of_method: bool = False) -> str:
    called, text = f"`{name}{_arguments(value, of_method)}`", _text(value)
    return f"#### {called}\n\n{text}" if text else f"- {called}"


def _arguments(value: Callable[..., Any], of_method: bool) -> str:
    if not callable(value):
        return ""
    try:
        parameters = list(inspect.signature(value).parameters.values())[1 if of_method else 0 :]
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=Parameter.empty) for each in parameters]
    return str(Signature(plain))


def _text(value: Any) -> str:
    """The docstring; none where Python wrote it."""
    text = value.__doc__ or ""
    name = getattr(value, "__name__", "")
    return "" if text.startswith(f"{name}(") else cleandoc(text)
