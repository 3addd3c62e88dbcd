"""What a module of `nd` functions means, in numpy; kernels and launches in them have the meaning of their own level.

`evaluate` runs a function; `evaluate_block` a block, with `evaluate_op` for each op. Values are numpy arrays, often
views: treat them as read-only. `nd_base.Precision` says how floats are carried.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects.nd import ConstantOp
from irc.interpreters.nd import attention as nd_attention
from irc.interpreters.nd import collective as nd_collective
from irc.interpreters.nd import composed as nd_composed
from irc.interpreters.nd import creation as nd_creation
from irc.interpreters.nd import elementwise as nd_elementwise
from irc.interpreters.nd import linear as nd_linear
from irc.interpreters.nd import reduce as nd_reduce
from irc.interpreters.nd import shape as nd_shape
from irc.interpreters.nd.base import (
    Array,
    Meaning,
    Precision,
    carried_dtype,
    carry,
    convert,
    evaluate_op,
    meaning,
    meaning_of,
    rounded,
)
from irc.ir.dtypes import element_of
from irc.support.diagnostics import IrcError

FAMILIES = (nd_elementwise, nd_shape, nd_reduce, nd_linear, nd_creation, nd_composed, nd_attention, nd_collective)
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
    """A block in order, to be run many times: what each run needs to know of an op is looked up once, constants are
    made once, and arrays are freed at their last use. Threads may share it."""

    def __init__(self, block: Block):
        *self._body, self._terminator = block.ops
        self._arguments = block.args
        self._prepared: dict[Precision, _Steps] = {}

    def run(self, args: Sequence[Array], precision: Precision) -> tuple[Array, ...]:
        """The terminator's operands. IrcError where an op has no meaning, or memory ends."""
        prepared = self._steps(precision)
        values: list[Array | None] = [*args, *prepared.constants]
        with np.errstate(all="ignore"):
            for step in prepared.steps:
                step.run(values, precision)
        return tuple(cast(Array, values[slot]) for slot in prepared.results)

    def stepwise(self, args: Sequence[Array], precision: Precision) -> Generator[Operation]:
        """Runs it, and gives each op when it was run."""
        prepared = self._steps(precision)
        values: list[Array | None] = [*args, *prepared.constants]
        with np.errstate(all="ignore"):
            for step in prepared.steps:
                step.run(values, precision)
                yield step.op

    def _steps(self, precision: Precision) -> _Steps:
        prepared = self._prepared.get(precision)
        if prepared is None:
            prepared = self._prepared[precision] = self._prepare(precision)
        return prepared

    def _prepare(self, precision: Precision) -> _Steps:
        constants = [op for op in self._body if isinstance(op, ConstantOp)]
        others = [op for op in self._body if not isinstance(op, ConstantOp)]
        made = [value for op in others for value in op.results]
        order: list[SSAValue] = [*self._arguments, *(op.result for op in constants), *made]
        slots = {value: i for i, value in enumerate(order)}
        results = [slots[value] for value in self._terminator.operands]
        kept = {*results, *range(len(slots) - len(made))}
        last = {slots[value]: i for i, op in enumerate(others) for value in (*op.results, *op.operands)}
        dead: list[list[int]] = [[] for _ in others]
        for slot, i in last.items():
            if slot not in kept:
                dead[i].append(slot)
        arrays = tuple(evaluate_op(op, [], precision)[0] for op in constants)
        steps = tuple(_Step.of(op, slots, each, precision) for op, each in zip(others, dead, strict=True))
        return _Steps(arrays, steps, tuple(results))


@dataclass(frozen=True, slots=True)
class _Steps:
    """A block as numbered slots: those of its arguments, then of its constants, then of what its other ops give."""

    constants: tuple[Array, ...]
    steps: tuple[_Step, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """One op: its meaning, its operands' slots, the dtypes in which its results are carried, and the slots that nobody
    reads after it."""

    op: Operation
    meaning: Meaning
    operands: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    dead: tuple[int, ...]

    @staticmethod
    def of(op: Operation, slots: Mapping[SSAValue, int], dead: Sequence[int], precision: Precision) -> _Step:
        operands = tuple(slots[value] for value in op.operands)
        dtypes = tuple(carried_dtype(element_of(result.type), precision) for result in op.results)
        return _Step(op, meaning_of(op), operands, dtypes, tuple(dead))

    def run(self, values: list[Array | None], precision: Precision) -> None:
        """Appends the results: ops are run in the order of the slots."""
        try:
            found = self.meaning(self.op, [cast(Array, values[slot]) for slot in self.operands], precision)
            arrays = found if isinstance(found, tuple) else (found,)
            values.extend(convert(np.asarray(x), dtype) for x, dtype in zip(arrays, self.dtypes, strict=True))
        except MemoryError as error:
            types = ", ".join(str(result.type) for result in self.op.results)
            raise IrcError(f"not enough memory for the result of {self.op.name}, {types}", self.op.location) from error
        for slot in self.dead:
            values[slot] = None
