"""The target `interpret`: a function of nd ops, run by numpy op by op."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from irc.analysis.costs import flops_of
from irc.interpreters.nd.base import carry, convert
from irc.interpreters.nd.interpreter import Array, Schedule, check_arguments, entry
from irc.ir.dtypes import element_of
from irc.ir.locations import describe


class InterpretedProgram:
    """The entry function of a module, ready to be called with numpy arrays of its argument types.

    Arithmetic on f16, bf16 and f8 is in f32, and rounds where docs/language.md, Numbers, says. Arrays are freed at
    their last use. The module must not change afterwards.
    """

    def __init__(self, module: ModuleOp):
        """Of its last function; IrcError where it has none."""
        self.function = entry(module)
        self._schedule = Schedule(self.function.body.block)

    def __call__(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """New, contiguous arrays of the result types. IrcError where `arrays` do not fit, an op cannot run, or memory
        ends."""
        inputs = [np.asarray(array) for array in arrays]
        results = self._schedule.run(self._carried(inputs), "excess")
        outputs = self.function.function_type.outputs
        made: list[Array] = []
        for x, type in zip(results, outputs, strict=True):
            made.append(_own(convert(x, element_of(type).dtype), [*inputs, *made]))
        return tuple(made)

    def timed(self, arrays: Sequence[Any]) -> Generator[tuple[str, str, int, int, float]]:
        """Runs it, and gives for each op its name and its place, its operations and the bytes of its operands and
        results, and when it was done (`time.perf_counter`)."""
        for op in self._schedule.stepwise(self._carried([np.asarray(array) for array in arrays]), "excess"):
            done = time.perf_counter()
            values = {*op.operands, *op.results}
            yield op.name, describe(op.location), flops_of(op), sum(map(_bytes, values)), done

    def _carried(self, inputs: Sequence[Array]) -> list[Array]:
        check_arguments(self.function, inputs)
        types = [value.type for value in self.function.body.block.args]
        return [carry(x, type, "excess") for x, type in zip(inputs, types, strict=True)]


def _bytes(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return prod(value.type.get_shape()) * element_of(value.type).dtype.itemsize


def _own(x: Array, others: Sequence[Array]) -> Array:
    """x, or a copy of it where it may share memory with one of the others or a constant, or is not contiguous."""
    whole = x.flags.c_contiguous and x.flags.writeable
    return x if whole and not _is_shared(x, others) else np.array(x, order="C", copy=True)


def _is_shared(x: Array, others: Sequence[Array]) -> bool:
    """Whether x may have memory of another; an array that has its own is another itself, or the base of one."""
    if x.base is None:
        return any(x is y or y.base is x for y in others)
    return any(np.may_share_memory(x, y) for y in others)
