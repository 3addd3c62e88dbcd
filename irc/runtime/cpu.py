"""The target `cpu`: a function of nd ops, run by numpy op by op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from irc.dtypes import element_of
from irc.interpreters.nd import Array, Schedule, check_arguments, entry
from irc.interpreters.nd_base import carry, convert


class CpuProgram:
    """A function of a module, ready to be called with numpy arrays of its argument types.

    Arithmetic on f16, bf16 and f8 is in f32, and rounds where docs/language.md, Numbers, says. Arrays are freed at
    their last use. The module must not change afterwards.
    """

    def __init__(self, module: ModuleOp, func: str | None = None):
        """`func` names the function, the last by default; IrcError where there is none."""
        self.function = entry(module, func)
        self._schedule = Schedule(self.function.body.block)

    def __call__(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """New, contiguous arrays of the result types. IrcError where `arrays` do not fit, an op cannot run, or memory
        ends."""
        inputs = [np.asarray(array) for array in arrays]
        check_arguments(self.function, inputs)
        types = [value.type for value in self.function.body.block.args]
        values = [carry(x, type, "excess") for x, type in zip(inputs, types, strict=True)]
        results = self._schedule.run(values, "excess")
        outputs = self.function.function_type.outputs
        return tuple(_own(convert(x, element_of(type).dtype), inputs) for x, type in zip(results, outputs, strict=True))


def _own(x: Array, inputs: Sequence[Array]) -> Array:
    """x, or a copy of it where it is a view of an input or of a constant, or not contiguous."""
    whole = x.flags.c_contiguous and x.flags.writeable
    return x if whole and not _is_shared(x, inputs) else np.array(x, order="C", copy=True)


def _is_shared(x: Array, inputs: Sequence[Array]) -> bool:
    """Whether x may have memory of an input; arrays that have their own are the inputs themselves or share nothing."""
    if x.base is None:
        return any(x is y for y in inputs)
    return any(np.may_share_memory(x, y) for y in inputs)
