"""The target `native`: a function whose kernels are machine code of this CPU, run by a pool of threads.

Ops between kernels, and programs that have no machine code, run by the interpreters.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from irc.dialects.kernel import LaunchOp
from irc.dialects.tile import ProgramOp
from irc.interpreters.nd.base import convert, evaluate_op
from irc.interpreters.nd.interpreter import Array, check_arguments, entry
from irc.interpreters.tile.interpreter import run_program
from irc.ir.discardable import INTERPRETED
from irc.ir.dtypes import element_of
from irc.ir.locations import describe
from irc.runtime.threads import pool
from irc.support.blas import single_threaded

ALONE = 1 << 16
"""Bytes of operands and results up to which one thread runs a kernel: waking others takes longer."""

ALIGNMENT = 64

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)

_own = threading.local()
"""The memory that kernels have for a thread's own."""


@dataclass(frozen=True)
class NativeKernel:
    """Machine code at an address: see `irc/codegen/cpu/printer.py`. multiplies: whether it calls BLAS. `loaded` keeps
    it in memory."""

    address: int
    tiles: int
    own_bytes: int
    multiplies: bool
    loaded: Any

    def __call__(self, arrays: Sequence[Array]) -> None:
        """Runs all tiles. `arrays` are contiguous: the operands, then the results."""
        if self.tiles == 0:
            return
        function = _SIGNATURE(self.address)
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))
        run = partial(_run, function, pointers, self.own_bytes)
        if sum(array.nbytes for array in arrays) <= ALONE:
            run(0, self.tiles)
        else:
            with single_threaded() if self.multiplies else nullcontext():
                pool().run(run, self.tiles)


def _run(function: Any, pointers: Any, own_bytes: int, first: int, end: int) -> None:
    function(pointers, first, end, _own_memory(own_bytes))


def _own_memory(size: int) -> int:
    """The address of memory of this thread, aligned to a line of the cache."""
    if getattr(_own, "size", -1) < size:
        _own.memory = np.empty(size + ALIGNMENT, np.uint8)
        _own.size = size
        _own.address = -(-_own.memory.ctypes.data // ALIGNMENT) * ALIGNMENT
    return _own.address


@dataclass(frozen=True)
class _Step:
    """An op of the function: what it computes of its operands, and the values that nobody reads after it."""

    op: Operation
    name: str
    run: Callable[[Sequence[Array]], Sequence[Array]]
    dead: tuple[SSAValue, ...]


class NativeProgram:
    """A function of launches and nd ops, ready to be called with numpy arrays. The module must not change."""

    def __init__(self, module: ModuleOp, kernels: Mapping[str, NativeKernel]):
        self.function = entry(module)
        *ops, self._last = self.function.body.block.ops
        last: dict[SSAValue, int] = {value: at for at, op in enumerate(ops) for value in (*op.results, *op.operands)}
        kept = {*self.function.body.block.args, *self._last.operands}
        dead: list[list[SSAValue]] = [[] for _ in ops]
        for value, at in last.items():
            if value not in kept:
                dead[at].append(value)
        self._steps = [_Step(op, *_meaning(op, kernels), tuple(each)) for op, each in zip(ops, dead, strict=True)]

    def __call__(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """New, contiguous arrays of the result types. IrcError where `arrays` do not fit or an op cannot run."""
        values = self._bound(arrays)
        for step in self._steps:
            self._advance(step, values)
        return self._results(values, arrays)

    def timed(self, arrays: Sequence[Any]) -> Generator[tuple[str, str, int, int, float]]:
        """Runs it, and gives for each op its name, its place, 0 operations, the bytes of its operands and results, and
        when it was done (`time.perf_counter`)."""
        values = self._bound(arrays)
        for step in self._steps:
            read = sum(values[operand].nbytes for operand in step.op.operands)
            self._advance(step, values)
            done = time.perf_counter()
            made = sum(values[result].nbytes for result in step.op.results if result in values)
            yield step.name, describe(step.op.location), 0, read + made, done

    def _bound(self, arrays: Sequence[Any]) -> dict[SSAValue, Array]:
        inputs = [np.asarray(array) for array in arrays]
        check_arguments(self.function, inputs)
        arguments = self.function.body.block.args
        return {value: _as_declared(x, value) for value, x in zip(arguments, inputs, strict=True)}

    @staticmethod
    def _advance(step: _Step, values: dict[SSAValue, Array]) -> None:
        results = step.run([values[operand] for operand in step.op.operands])
        values.update(zip(step.op.results, results, strict=True))
        for value in step.dead:
            del values[value]

    def _results(self, values: dict[SSAValue, Array], arrays: Sequence[Any]) -> tuple[Array, ...]:
        """The results, none in memory of an argument or of another result."""
        taken: list[Any] = [*arrays]
        made: list[Array] = []
        for operand in self._last.operands:
            x = _as_declared(values[operand], operand)
            is_shared = not x.flags.writeable or any(np.may_share_memory(x, np.asarray(y)) for y in taken)
            made.append(x.copy() if is_shared else x)
            taken.append(made[-1])
        return tuple(made)


def _as_declared(x: Array, value: SSAValue) -> Array:
    return np.ascontiguousarray(convert(x, element_of(value.type).dtype)).reshape(value.type.get_shape())  # pyright: ignore


def _meaning(
    op: Operation, kernels: Mapping[str, NativeKernel]
) -> tuple[str, Callable[[Sequence[Array]], Sequence[Array]]]:
    """How a profile calls an op, and what it computes."""
    if not isinstance(op, LaunchOp):
        return op.name, lambda arrays: evaluate_op(op, arrays)
    name = op.callee.root_reference.data
    types = [result.type for result in op.outputs]
    if (kernel := kernels.get(name)) is not None:
        return name, partial(_launched, kernel, op)
    program = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(program, ProgramOp)
    reason = program.attributes.get(INTERPRETED)
    shown = f"{name}, interpreted: {reason.data}" if isinstance(reason, StringAttr) else f"{name}, interpreted"
    return shown, lambda arrays: run_program(program, list(map(_as_declared, arrays, op.inputs)), types)


def _launched(kernel: NativeKernel, op: LaunchOp, arrays: Sequence[Array]) -> Sequence[Array]:
    inputs = list(map(_as_declared, arrays, op.inputs))
    results = [np.empty(result.type.get_shape(), element_of(result.type).dtype) for result in op.outputs]  # pyright: ignore
    kernel([*inputs, *results])
    return results
