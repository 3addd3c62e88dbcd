"""Matrix products and convolution."""

from __future__ import annotations

from irc.dialects.nd.grouped import grouped_shape
from irc.language.arguments import Arguments
from irc.language.functions.registry import builtin
from irc.language.operators import emit_matmul, matmul, matrices, product_element
from irc.language.values import Array, Value
from irc.support.windows import conv_shape, in_order, placed

_AXES = ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract")


@builtin(
    'matmul(x, y, *, dtype=None, precision="default", '
    "lhs_batch=None, rhs_batch=None, lhs_contract=None, rhs_contract=None)"
)
def matmul_function(args: Arguments) -> Value:
    left, right = args.operand("x"), args.operand("y")
    a, b = matrices(args.builder, left, right, args.place)
    element = args.number_element(product_element(a.element))
    precision = args.choice("precision", ("default", "f32", "tf32", "bf16", "f16"), "default")
    if not any(name in args for name in _AXES):
        return matmul(args.builder, left, right, args.place, element, precision)
    axes = [_axes(args, name, a if name.startswith("lhs") else b) for name in _AXES]
    lhs_batch, rhs_batch, lhs_contract, rhs_contract = axes
    _check_pairs(args, a, b, lhs_batch, rhs_batch, "batch")
    _check_pairs(args, a, b, lhs_contract, rhs_contract, "contract")
    for array, batch, contract, name in ((a, lhs_batch, lhs_contract, "x"), (b, rhs_batch, rhs_contract, "y")):
        if len({*batch, *contract}) != len(batch) + len(contract):
            raise args.error(f"an axis of {array} is named twice", name)
    return emit_matmul(
        args.builder, (a, b), (lhs_batch, rhs_batch, lhs_contract, rhs_contract), element, precision, args.place
    )


def _axes(args: Arguments, name: str, array: Array) -> list[int]:
    if name not in args:
        return []
    return [args.normalized(name, axis, array.rank) for axis in args.integers(name)]


def _check_pairs(args: Arguments, a: Array, b: Array, lhs: list[int], rhs: list[int], what: str) -> None:
    if len(lhs) != len(rhs):
        raise args.error(f"lhs_{what} and rhs_{what} are pairs of axes, found {lhs} and {rhs}")
    for i, j in zip(lhs, rhs, strict=True):
        if a.shape[i] != b.shape[j]:
            raise args.error(f"cannot pair axis {i} of {a} with axis {j} of {b}", None, "their extents must be equal")


@builtin(
    'grouped_matmul(x, y, ends, *, dtype=None, precision="default", x_contract=None, y_contract=None, y_group=None)'
)
def grouped_matmul(args: Arguments) -> Value:
    x, y, ends = args.number_array("x"), args.number_array("y"), args.integer_array("ends")
    if x.element is not y.element:
        found = f"grouped_matmul expects one element type, found {x} and {y}"
        raise args.error(found, None, f"cast one of them: cast(x, {x.element.name})")
    if x.rank != 2 or y.rank not in (2, 3) or ends.rank != 1 or not ends.shape[0]:
        hint = "x is [T, K], y [G, K, N] or, to contract T, x is [M, T], y [T, N]; ends is i32[G]"
        raise args.error(f"grouped_matmul cannot combine {x} and {y} in groups {ends}", None, hint)
    of_x, of_y = args.axis("x_contract", 2, 1), args.axis("y_contract", y.rank, -2)
    group = args.axis("y_group", y.rank, 0)
    if y.rank == 3 and (group == of_y or y.shape[group] != ends.shape[0]):
        hint = f"{y} has a matrix for each group along an axis of its own, y_group"
        raise args.error(f"grouped_matmul expects {ends.shape[0]} matrices, found {y}", "y", hint)
    if x.shape[of_x] != y.shape[of_y]:
        hint = "x_contract and y_contract say which axes are contracted"
        raise args.error(f"grouped_matmul cannot contract axis {of_x} of {x} with axis {of_y} of {y}", None, hint)
    return args.emit(
        "grouped_matmul",
        [x, y, ends],
        grouped_shape(x.shape, y.shape, ends.shape, of_x, of_y, group),
        args.number_element(product_element(x.element)),
        lhs_contract=of_x,
        rhs_contract=of_y,
        rhs_group=group,
        precision=args.choice("precision", ("default", "f32", "tf32", "bf16"), "default"),
    )


_CONV_LISTS = {"strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
"""Parameters with one number for each spatial axis, and the least (and default) number."""


_CONV_AXES = ("x_axes", "kernel_axes", "result_axes")
"""Parameters with the axes of an array in the order N, C, spatial, or O, C, spatial of the kernel."""


@builtin(
    "conv(x, kernel, *, strides=None, low=None, high=None, dilation=None, input_dilation=None, groups=1, dtype=None, "
    "x_axes=None, kernel_axes=None, result_axes=None, flipped=false, batch_groups=1)"
)
def conv(args: Arguments) -> Value:
    x, kernel = matrices(args.builder, args.operand("x"), args.operand("kernel"), args.place)
    groups = args.integer("groups", 1)
    if x.rank < 2 or x.rank != kernel.rank:
        raise args.error(f"conv expects x and kernel with the same 2 axes or more, found {x} and {kernel}")
    axes = {name: _order(args, name, x.rank) for name in _CONV_AXES}
    inputs, weights = in_order(x.shape, axes["x_axes"]), in_order(kernel.shape, axes["kernel_axes"])
    if groups < 1 or inputs[1] % groups or weights[0] % groups or inputs[1] // groups != weights[1]:
        hint = "x is [N, C, ..], the kernel [O, C // groups, ..]"
        if axes["x_axes"] or axes["kernel_axes"]:
            hint += " in the order of their axes"
        raise args.error(f"conv cannot combine {x} and {kernel} with groups={groups}", None, hint)
    of_images = args.integer("batch_groups", 1)
    if of_images < 1 or inputs[0] % of_images or weights[0] % of_images or (groups > 1 < of_images):
        hint = "they divide images and output channels, where channels are in one group"
        raise args.error(f"conv cannot combine {x} and {kernel} with batch_groups={of_images}", "batch_groups", hint)
    numbers = {name: _per_axis(args, name, least, x.rank - 2) for name, least in _CONV_LISTS.items()}
    shape = placed(conv_shape(inputs, weights, *numbers.values(), batch_groups=of_images), axes["result_axes"])
    element = args.number_element(product_element(x.element))
    flipped = args.flag("flipped")
    return args.emit(
        "conv",
        [x, kernel],
        shape,
        element,
        **numbers,
        groups=groups,
        **axes,
        flipped=flipped,
        batch_groups=of_images,
    )


def _order(args: Arguments, name: str, rank: int) -> list[int]:
    """The axes of an array in an order of their own; none where they are in that of the parameters."""
    if name not in args:
        return []
    axes = [args.normalized(name, axis, rank) for axis in args.integers(name)]
    if sorted(axes) != list(range(rank)):
        raise args.error(f"conv expects all {rank} axes, each once, for {name}, found {axes}", name)
    return axes if axes != sorted(axes) else []


def _per_axis(args: Arguments, name: str, least: int, count: int) -> list[int]:
    if name not in args:
        return [least] * count
    values = args.integers(name)
    if len(values) != count or any(value < least for value in values):
        raise args.error(f"conv expects {count} integers of {least} or more for {name}, found {values}", name)
    return values
