"""How each `nd` op is written: the expression whose evaluation appends just that op.

An op's operands are given as text: names, or numbers where the op's operator or function gives them a type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from irc.dialects import nd
from irc.dialects.nd.base import integer, ints
from irc.dialects.nd.table import ROWS
from irc.ir.dtypes import Element, element_of
from irc.ir.extents import dims_of
from irc.ir.rewriting import location_of
from irc.language.functions.reductions import accumulated, averaged
from irc.language.functions.windows import LISTS as WINDOW_LISTS
from irc.language.numbers import format_float
from irc.language.operators import product_element
from irc.support.diagnostics import IrcError
from irc.support.extents import extent_text


def number_text(value: int | float, element: Element) -> str:
    """The literal of an element of a constant."""
    if element.kind == "bool":
        return "true" if value else "false"
    return format_float(float(value)) if element.is_float else str(int(value))


def list_text(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def shape_text(shape: Sequence[int], op: Operation) -> str:
    """Extents as a list; those that are known when the program is called by the names of the module's dims."""
    dims = dims_of(op)
    return f"[{', '.join(extent_text(extent, dims) for extent in shape)}]"


def expression(op: nd.NdOp, operands: Sequence[str]) -> str | None:
    """The text of an op on operands; None where the language has none."""
    if (symbol := symbol_of(op)) and not isinstance(op, nd.PowOp):
        return f"{operands[0]} {symbol} {operands[1]}" if len(operands) == 2 else f"{symbol}{operands[0]}"
    for family, spell in _SPELLINGS.items():
        if isinstance(op, family):
            return spell(op, operands)
    return None


def symbol_of(op: Operation) -> str:
    """The operator that gives the op, if there is one."""
    row = ROWS.get(type(op))
    return "" if row is None else row.symbol


def call(name: str, *arguments: object) -> str:
    return f"{name}({', '.join(map(str, arguments))})"


def _plain(op: nd.NdOp, operands: Sequence[str]) -> str:
    return call(op.name.removeprefix("nd."), *operands)


def _element(op: nd.NdOp) -> Element:
    return element_of(op.results[0].type)


def _shape(op: nd.NdOp) -> str:
    return shape_text(nd.shape_of(op.results[0]), op)


def _pow(op: nd.PowOp, operands: Sequence[str]) -> str:
    base, exponent = operands
    if _element(op).is_float:
        return f"({base}) ** {exponent}" if base.startswith("-") else f"{base} ** {exponent}"
    return f"{base} ** {exponent}" if exponent.isdigit() else call("pow", base, exponent)


def _gelu(op: nd.GeluOp, operands: Sequence[str]) -> str:
    if op.approximate.data == "none":
        return call("gelu", *operands)
    return call("gelu", *operands, f'approximate="{op.approximate.data}"')


def _leaky_relu(op: nd.LeakyReluOp, operands: Sequence[str]) -> str:
    return call("leaky_relu", *operands, format_float(op.slope.value.data))


def _check_indices(op: nd.CheckIndicesOp, operands: Sequence[str]) -> str:
    beyond = [] if op.extent is None else [f"extent={extent_text(op.extent.value.data, dims_of(op))}"]
    return call("check_indices", *operands, integer(op.low), integer(op.high), *beyond)


def _conversion(op: nd.ConversionOp, operands: Sequence[str]) -> str:
    return call(op.name.removeprefix("nd."), *operands, _element(op).name)


def _along(op: Any, operands: Sequence[str]) -> str:
    return call(op.name.removeprefix("nd."), *operands, f"axis={integer(op.axis)}")


def _norm(op: nd.NormOp, operands: Sequence[str]) -> str:
    name = op.name.removeprefix("nd.")
    return call(name, *operands, f"axis={integer(op.axis)}", f"eps={format_float(op.eps.value.data)}")


def _attention(op: nd.AttentionFamilyOp, operands: Sequence[str]) -> str:
    options = ["causal=true" if integer(op.causal) else "causal=false", f"scale={format_float(op.scale.value.data)}"]
    if integer(op.window):
        options.append(f"window={integer(op.window)}")
    if op.soft_cap.value.data:
        options.append(f"soft_cap={format_float(op.soft_cap.value.data)}")
    if op.bias is not None:
        *operands, bias = operands
        options.append(f"bias={bias}")
    return call(op.name.removeprefix("nd."), *operands, *options)


def _broadcast(op: nd.BroadcastOp, operands: Sequence[str]) -> str:
    dims, rank = ints(op.dims), nd.rank_of(op.result)
    if dims == tuple(range(rank - len(dims), rank)):
        return call("broadcast", *operands, _shape(op))
    return call("broadcast", *operands, _shape(op), f"dims={list_text(dims)}")


def _slice(op: nd.SliceOp, operands: Sequence[str]) -> str:
    """An index; a slice of everything, which an index would leave out, is a call."""
    starts, stops, steps = ints(op.starts), ints(op.stops), ints(op.steps)
    shape = nd.shape_of(op.x)
    if not any(starts) and stops == shape and all(step == 1 for step in steps):
        return call("slice", *operands, list_text(starts), list_text(stops), list_text(steps))
    parts = [_range(*bounds) for bounds in zip(starts, stops, steps, shape, strict=True)]
    return f"{operands[0]}[{', '.join(parts)}]"


def _range(start: int, stop: int, step: int, extent: int) -> str:
    if (start, stop, step) == (0, extent, 1):
        return ":"
    return f"{start}:{stop}" + (f":{step}" if step != 1 else "")


def _pad(op: nd.PadOp, operands: Sequence[str]) -> str:
    widths = ", ".join(list_text(pair) for pair in zip(ints(op.low), ints(op.high), strict=True))
    return call("pad", operands[0], f"[{widths}]", f"value={operands[1]}")


def _one_hot(op: nd.OneHotOp, operands: Sequence[str]) -> str:
    return call("one_hot", *operands, nd.shape_of(op.result)[-1], _element(op).name)


def _accumulate(op: nd.AccumulateOp, operands: Sequence[str]) -> str:
    source = element_of(op.x.type)
    default = averaged(source) if isinstance(op, nd.FloatResultOp) else accumulated(source)
    extra = [f"correction={integer(op.correction)}"] if isinstance(op, nd.VarOp) else []
    extra += [f"dtype={_element(op).name}"] if _element(op).name != default.name else []
    return call(op.name.removeprefix("nd."), *operands, f"axis={list_text(ints(op.axes))}", *extra)


def _reduce(op: nd.ReduceOp, operands: Sequence[str]) -> str:
    return call(op.name.removeprefix("nd."), *operands, f"axis={list_text(ints(op.axes))}")


def _constant(op: nd.ConstantOp, operands: Sequence[str]) -> str:
    element = _element(op)
    if op.splat_value is not None:
        return call("full", _shape(op), number_text(op.splat_value, element), element.name)
    return call("array", _nested(op.array().tolist(), element), element.name)


def _nested(values: Any, element: Element) -> str:
    if isinstance(values, list):
        return f"[{', '.join(_nested(value, element) for value in values)}]"  # pyright: ignore[reportUnknownVariableType]
    return number_text(values, element)


def _random(op: nd.RandomOp, operands: Sequence[str]) -> str:
    return call(op.name.removeprefix("nd."), _shape(op), _element(op).name, f"seed={operands[0]}")


def _matmul(op: nd.MatmulOp, operands: Sequence[str]) -> str:
    extra = [f"{name}={list_text(ints(getattr(op, name)))}" for name in _AXES] if not _is_product(op) else []
    default = product_element(element_of(op.lhs.type)).name
    extra += [f"dtype={_element(op).name}"] if _element(op).name != default else []
    extra += [f'precision="{op.precision.data}"'] if op.precision.data != "default" else []
    return call("matmul", *operands, *extra) if extra else f"{operands[0]} @ {operands[1]}"


_AXES = ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract")


def _is_product(op: nd.MatmulOp) -> bool:
    """Whether `x @ y` means this op."""
    a, b = nd.rank_of(op.lhs), nd.rank_of(op.rhs)
    if not a or not b:
        return False
    batches = tuple(range(b - 2)) if a > 1 and b > 2 else ()
    if batches and a != b:
        return False
    found = tuple(ints(getattr(op, name)) for name in _AXES)
    return found == (batches, batches, (a - 1,), (max(b - 2, 0),))


def _grouped_matmul(op: nd.GroupedMatmulOp, operands: Sequence[str]) -> str:
    axes = {"x_contract": (op.lhs_contract, 1), "y_contract": (op.rhs_contract, nd.rank_of(op.rhs) - 2)}
    axes |= {} if op.contracts_rows else {"y_group": (op.rhs_group, 0)}
    extra = [f"{name}={integer(axis)}" for name, (axis, default) in axes.items() if integer(axis) != default]
    default = product_element(element_of(op.lhs.type)).name
    extra += [f"dtype={_element(op).name}"] if _element(op).name != default else []
    extra += [f'precision="{op.precision.data}"'] if op.precision.data != "default" else []
    return call("grouped_matmul", *operands, *extra)


def _conv(op: nd.ConvOp, operands: Sequence[str]) -> str:
    if ints(op.parts):
        raise IrcError("nd.conv by parts is no function of the language", location_of(op))
    lists = [f"{name}={list_text(ints(getattr(op, name)))}" for name in CONV_LISTS]
    default = product_element(element_of(op.x.type)).name
    dtype = [f"dtype={_element(op).name}"] if _element(op).name != default else []
    orders = [f"{name}={list_text(axes)}" for name in _CONV_ORDERS if (axes := ints(getattr(op, name)))]
    orders += ["flipped=true"] if op.is_flipped else []
    orders += [f"batch_groups={n}"] if (n := integer(op.batch_groups)) != 1 else []
    return call("conv", *operands, *lists, f"groups={integer(op.groups)}", *dtype, *orders)


def _reduce_window(op: nd.ReduceWindowOp, operands: Sequence[str]) -> str:
    monoid, numbers = op.monoid.data, op.numbers
    options = [] if monoid == "sum" else [f'monoid="{monoid}"']
    options += [f"{n}={list_text(numbers[n])}" for n, least in WINDOW_LISTS.items() if set(numbers[n]) != {least}]
    default = accumulated(element_of(op.x.type)) if monoid == "sum" else _element(op)
    options += [f"dtype={_element(op).name}"] if _element(op) is not default else []
    return call("reduce_window", *operands, list_text(numbers["window"]), *options)


CONV_LISTS = ("strides", "low", "high", "dilation", "input_dilation")
_CONV_ORDERS = ("x_axes", "kernel_axes", "result_axes")

_SPELLINGS: dict[type[Any], Callable[[Any, Sequence[str]], str]] = {
    nd.PowOp: _pow,
    nd.GeluOp: _gelu,
    nd.LeakyReluOp: _leaky_relu,
    nd.CheckIndicesOp: _check_indices,
    nd.AscendingOp: _plain,
    nd.ConversionOp: _conversion,
    nd.Elementwise: _plain,
    nd.NormOp: _norm,
    nd.SoftmaxFamilyOp: _along,
    nd.AttentionFamilyOp: _attention,
    nd.BroadcastOp: _broadcast,
    nd.PermuteOp: lambda op, x: call("permute", *x, list_text(ints(op.permutation))),
    nd.ReshapeOp: lambda op, x: call("reshape", *x, _shape(op)),
    nd.SliceOp: _slice,
    nd.PadOp: _pad,
    nd.ConcatOp: lambda op, x: call("concat", f"[{', '.join(x)}]", f"axis={integer(op.axis)}"),
    nd.FlipOp: lambda op, x: call("flip", *x, list_text(ints(op.axes))),
    nd.TileOp: lambda op, x: call("tile", *x, list_text(ints(op.reps))),
    nd.TriangleOp: lambda op, x: call(op.name.removeprefix("nd."), *x, f"k={integer(op.k)}"),
    nd.OneHotOp: _one_hot,
    nd.IndexedOp: _along,
    nd.AccumulateOp: _accumulate,
    nd.ReduceOp: _reduce,
    nd.ArgReduceOp: _along,
    nd.AxisOp: _along,
    nd.TopkOp: lambda op, x: call("topk", *x, f"k={integer(op.k)}", f"axis={integer(op.axis)}"),
    nd.ConstantOp: _constant,
    nd.ExtentOp: lambda op, x: call("full", _shape(op), extent_text(op.extent.value.data, dims_of(op)), "i64"),
    nd.IotaOp: lambda op, x: call("iota", _shape(op), _element(op).name, f"axis={integer(op.axis)}"),
    nd.RandomOp: _random,
    nd.MatmulOp: _matmul,
    nd.GroupedMatmulOp: _grouped_matmul,
    nd.ConvOp: _conv,
    nd.ReduceWindowOp: _reduce_window,
}
"""By class, the more specific first."""
