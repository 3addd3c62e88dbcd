"""numpy's functions and ufuncs called with Tensors: irc's functions of the same names.

A function that irc does not have gets values: it is numpy's, on the host.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import irc_frontend as ir
from irc_frontend.graph import fail
from irc_frontend.pytrees import rebuilt, tree_leaves
from irc_frontend.shapes import axis_of
from irc_frontend.tensor import Tensor, node_of

_OTHER_NAMES = {
    "absolute": "abs",
    "fabs": "abs",
    "remainder": "mod",
    "true_divide": "divide",
    "rint": "round",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "amax": "max",
    "amin": "min",
    "permute_dims": "transpose",
    "around": "round",
}
"""irc's name of a function of numpy, where it is another one."""

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}

_OF_SHAPES: dict[str, Callable[[Tensor], Any]] = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "copy": lambda x: x,
}
"""Functions of numpy that need no value."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Tensor:
    """A ufunc, or its `reduce`, `accumulate` or `outer`. IrcError where irc does not have it."""
    name = ufunc.__name__
    if "out" in options:
        raise fail(f"numpy.{name} cannot write to out=: Tensors do not change", f"y = np.{name}(...) makes another one")
    match method:
        case "__call__":
            return _elementwise(name, inputs, **options)
        case "outer":
            first, second = (Tensor.of(node_of(x)) for x in inputs)
            return _elementwise(name, [first.reshape([*first.shape, *[1] * second.ndim]), second], **options)
        case "reduce" if name in _REDUCTIONS:
            axis, *others = inputs[1:] or [options.get("axis", 0)]
            rest = {key: value for key, value in options.items() if key != "axis" and value is not None}
            return _called(f"{name}.reduce", getattr(ir, _REDUCTIONS[name]), [inputs[0], axis, *others], rest)
        case "accumulate" if name in _SCANS:
            return _called(f"{name}.accumulate", getattr(ir, _SCANS[name]), inputs, {"axis": 0, **options})
        case _:
            raise fail(f"irc has no numpy.{name}.{method} of Tensors", f"np.{name}.{method}(x.numpy(), ...) is numpy's")


def _elementwise(name: str, inputs: Sequence[Any], dtype: Any = None, **options: Any) -> Tensor:
    if options:
        raise fail(f"numpy.{name} of Tensors takes dtype=, found {next(iter(options))}=", "ir.where chooses elements")
    if name == "positive":
        return Tensor.of(node_of(inputs[0]))
    function = _function(ir, _OTHER_NAMES.get(name, name))
    if function is None:
        raise fail(f"irc has no numpy.{name} of Tensors", f"np.{name}(x.numpy()) is numpy's, on the host")
    if dtype is not None:
        inputs = [x if isinstance(x, bool | int | float) else Tensor(x, dtype) for x in inputs]
    return _called(name, function, inputs, {})


def call_function(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of numpy; of values where irc has none of that name."""
    name = function.__name__
    if name in _OF_SHAPES and len(args) == 1 and not options:
        return _OF_SHAPES[name](args[0])
    if name == "size" and len(args) == 2:
        return args[0].shape[axis_of(args[1], args[0].ndim)]
    rooms = {"numpy": ir, "numpy.linalg": ir.linalg}
    room = rooms.get(function.__module__)
    found = None if room is None else _function(room, _OTHER_NAMES.get(name, name))
    if found is not None:
        return _called(name, found, args, options)
    tree = (tuple(args), dict(options))
    values = (leaf.numpy() if isinstance(leaf, Tensor) else leaf for leaf in tree_leaves(tree))
    given, named = rebuilt(tree, values)
    return function(*given, **named)


def _function(room: Any, name: str) -> Callable[..., Any] | None:
    return getattr(room, name) if name in room.__all__ and name not in ir.kernels.__all__ else None


def _called(name: str, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The function's result; IrcError where it does not take such arguments."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        raise fail(f"numpy.{name} of Tensors: {error}", f"it takes {signature}") from None
    return function(*args, **options)
