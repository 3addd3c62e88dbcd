"""What a module of `nd` functions means, in numpy.

`evaluate` runs a function; `evaluate_block` a block, with `evaluate_op` for each op. Values are numpy arrays, often
views: treat them as read-only. `nd_base.Precision` says how floats are carried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from irc.diagnostics import IrcError
from irc.dtypes import element_of
from irc.interpreters import nd_composed, nd_elementwise, nd_linear, nd_made, nd_reduce, nd_shape
from irc.interpreters.nd_base import (
    MEANINGS,
    Array,
    Precision,
    carry,
    evaluate_op,
    meaning,
    rounded,
)

FAMILIES = (nd_elementwise, nd_shape, nd_reduce, nd_linear, nd_made, nd_composed)
"""The modules that register meanings."""

__all__ = ["Array", "Precision", "Schedule", "entry", "evaluate", "evaluate_block", "evaluate_op", "meaning"]


def evaluate(
    module: ModuleOp, args: Sequence[Array], func: str | None = None, precision: Precision = "program"
) -> tuple[Array, ...]:
    """The results of a function, the last unless named, of arrays of its argument types.

    In `excess` and `float64` results are rounded to their declared narrow type and stay in f32 and float64. IrcError
    where the arrays do not fit the function, or an op has no meaning in numpy.
    """
    function = entry(module, func)
    block = function.body.block
    check_arguments(function, args)
    values = [carry(np.asarray(x), value.type, precision) for x, value in zip(args, block.args, strict=True)]
    results = evaluate_block(block, values, precision)
    types = function.function_type.outputs
    return tuple(visible(x, type, precision) for x, type in zip(results, types, strict=True))


def visible(x: Array, type: object, precision: Precision) -> Array:
    """A result as the user sees it: rounded where its declared type is narrow."""
    assert isinstance(type, TensorType)
    if precision != "program" and element_of(type).is_narrow_float:
        return rounded(x, type)
    return x


def entry(module: ModuleOp, func: str | None = None) -> FuncOp:
    """The function named `func`, or the last; IrcError where there is none."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    named = [op for op in functions if func in (None, op.sym_name.data)]
    if not named:
        raise IrcError("the module has no function" if func is None else f"the module has no function {func}")
    if named[-1].is_declaration:
        raise IrcError(f"function {named[-1].sym_name.data} has no body", named[-1].location)
    return named[-1]


def check_arguments(function: FuncOp, args: Sequence[Array]) -> None:
    """IrcError unless there is an array of the right shape and kind for each argument."""
    expected = function.body.block.args
    name = function.sym_name.data
    if len(args) != len(expected):
        raise IrcError(f"{name} takes {len(expected)} arrays, found {len(args)}", function.location)
    for i, (x, value) in enumerate(zip(args, expected, strict=True)):
        assert isinstance(value.type, TensorType)
        argument = value.name_hint or f"argument {i}"
        shape, element = value.type.get_shape(), element_of(value.type)
        x = np.asarray(x)
        if x.shape != shape:
            raise IrcError(f"{name}: {argument} has the shape {list(shape)}, found {list(x.shape)}", function.location)
        if x.dtype != element.dtype and not (element.is_float and x.dtype.name in ("float32", "float64")):
            raise IrcError(f"{name}: {argument} has elements {element.name}, found {x.dtype}", function.location)


def evaluate_block(block: Block, args: Sequence[Array], precision: Precision = "program") -> tuple[Array, ...]:
    """What the block's terminator returns or yields, of arrays for the block's arguments in the carried dtypes."""
    return Schedule(block).run(args, precision)


class Schedule:
    """A block in order, with the values that die at each op, so that arrays are freed at their last use."""

    def __init__(self, block: Block):
        *body, terminator = block.ops
        self.arguments = block.args
        self.results = terminator.operands
        self.steps = _with_deaths(body, self.arguments, self.results)

    def run(self, args: Sequence[Array], precision: Precision) -> tuple[Array, ...]:
        """The terminator's operands."""
        values: dict[SSAValue, Array] = dict(zip(self.arguments, args, strict=True))
        for op, dead in self.steps:
            results = run_op(op, [values[operand] for operand in op.operands], precision)
            values.update(zip(op.results, results, strict=True))
            for value in dead:
                values.pop(value, None)
        return tuple(values[value] for value in self.results)


def _with_deaths(
    body: Sequence[Operation], arguments: Sequence[SSAValue], results: Sequence[SSAValue]
) -> list[tuple[Operation, tuple[SSAValue, ...]]]:
    last: dict[SSAValue, int] = {}
    for i, op in enumerate(body):
        last.update(dict.fromkeys((*op.results, *op.operands), i))
    dead: list[list[SSAValue]] = [[] for _ in body]
    kept = set(results)
    for value, i in last.items():
        if value not in kept:
            dead[i].append(value)
    return [(op, tuple(values)) for op, values in zip(body, dead, strict=True)]


def run_op(op: Operation, args: Sequence[Array], precision: Precision) -> tuple[Array, ...]:
    """`evaluate_op`, with errors that name the op and its location."""
    if type(op) not in MEANINGS:
        raise IrcError(f"{op.name} has no meaning in numpy", op.location)
    try:
        return evaluate_op(op, args, precision)
    except MemoryError as error:
        types = ", ".join(str(result.type) for result in op.results)
        raise IrcError(f"not enough memory for the result of {op.name}, {types}", op.location) from error
