"""The target `cpu`: a function whose kernels are machine code of this CPU, run by a pool of threads.

Ops between kernels, and programs that have no machine code, run by the interpreters.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from irc.dialects.kernel import FusedOp, LaunchOp
from irc.dialects.tile import ProgramOp
from irc.interpreters.nd.base import convert, evaluate_op
from irc.interpreters.nd.interpreter import Array, entry
from irc.interpreters.tile.interpreter import run_program
from irc.ir.discardable import INTERPRETED
from irc.ir.dtypes import element_of
from irc.ir.locations import describe
from irc.runtime.threads import PoolCode, pool, run_alone
from irc.support.blas import single_threaded
from irc.support.diagnostics import IrcError

ALONE = 1 << 16
"""Bytes of operands and results up to which one thread runs a kernel: waking others takes longer."""


@dataclass(frozen=True)
class CpuKernel:
    """Machine code at an address: see `irc/codegen/cpu/printer.py`. multiplies: whether it calls BLAS. checks: what it
    expects of indices, and where. `loaded` keeps it in memory. threads: the code of the pool that runs its tiles."""

    address: int
    tiles: int
    own_bytes: int
    multiplies: bool
    checks: tuple[tuple[str, LocationAttr], ...]
    loaded: Any
    threads: Callable[[], PoolCode]

    def __call__(self, arrays: Sequence[Array]) -> None:
        """Runs all tiles. `arrays` are contiguous: the operands, then the results. IrcError where an index is out of
        range."""
        if self.tiles == 0:
            return
        failed = (ctypes.c_int64 * (1 + len(self.checks)))()
        addresses = [array.__array_interface__["data"][0] for array in arrays]
        pointers = (ctypes.c_void_p * (len(arrays) + 1))(*addresses, ctypes.addressof(failed))
        if sum(array.nbytes for array in arrays) <= ALONE:
            run_alone(self.address, pointers, self.own_bytes, self.tiles)
        else:
            with single_threaded() if self.multiplies else nullcontext():
                pool(self.threads).run(self.address, pointers, self.own_bytes, self.tiles)
        if number := failed[0]:
            expected, location = self.checks[number - 1]
            raise IrcError(f"index {failed[number]} is out of range: {expected}", location)


Function = Callable[[Sequence[Array]], Sequence[Array]]
"""What an op computes of arrays of its operands' types."""


@dataclass(frozen=True, slots=True)
class _Step:
    """An op of the function by numbers of values: its operands', and those that nobody reads after it. `name` and
    `location` are a profile's."""

    name: str
    location: str
    function: Function
    operands: tuple[int, ...]
    dead: tuple[int, ...]

    def run(self, values: list[Array | None]) -> None:
        """Appends the results: ops are run in the order of values' numbers."""
        values.extend(self.function([cast(Array, values[number]) for number in self.operands]))
        for number in self.dead:
            values[number] = None


class CpuProgram:
    """A function of launches and nd ops, ready to be called with row-major numpy arrays of its arguments' types. The
    module must not change."""

    def __init__(self, module: ModuleOp, kernels: Mapping[str, CpuKernel]):
        block = entry(module).body.block
        *ops, last = block.ops
        order: list[SSAValue] = [*block.args, *(result for op in ops for result in op.results)]
        numbers = {value: number for number, value in enumerate(order)}
        self._returned = [(numbers[value], _dtype(value)) for value in last.operands]
        kept = {*range(len(block.args)), *(number for number, _ in self._returned)}
        last_use = {numbers[value]: at for at, op in enumerate(ops) for value in (*op.results, *op.operands)}
        dead: list[list[int]] = [[] for _ in ops]
        for number, at in last_use.items():
            if number not in kept:
                dead[at].append(number)
        self._steps = [
            _Step(name, describe(op.location), function, tuple(numbers[value] for value in op.operands), tuple(each))
            for op, each in zip(ops, dead, strict=True)
            for name, function in [_meaning(op, kernels)]
        ]

    def __call__(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """New, contiguous arrays of the result types. IrcError where an op cannot run."""
        values: list[Array | None] = [*arrays]
        for step in self._steps:
            step.run(values)
        return self._results(values, arrays)

    def timed(self, arrays: Sequence[Array]) -> Generator[tuple[str, str, int, int, float]]:
        """Runs it, and gives for each op its name, its place, 0 operations, the bytes of its operands and results, and
        when it was done (`time.perf_counter`)."""
        values: list[Array | None] = [*arrays]
        for step in self._steps:
            moved = sum(cast(Array, values[number]).nbytes for number in step.operands)
            count = len(values)
            step.run(values)
            done = time.perf_counter()
            moved += sum(made.nbytes for made in values[count:] if made is not None)
            yield step.name, step.location, 0, moved, done

    def _results(self, values: Sequence[Array | None], arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The results, none in memory of an argument or of another result."""
        made: list[Array] = []
        for number, dtype in self._returned:
            x = _contiguous(convert(cast(Array, values[number]), dtype))
            is_own = x.base is None and x.flags.writeable and not any(x is y for y in (*arrays, *made))
            made.append(x if is_own else x.copy())
        return tuple(made)


def _contiguous(x: Array) -> Array:
    return x if x.flags.c_contiguous else x.copy()


def _dtype(value: SSAValue) -> np.dtype[Any]:
    return element_of(value.type).dtype


def _meaning(op: Operation, kernels: Mapping[str, CpuKernel]) -> tuple[str, Function]:
    """How a profile calls an op, and what it computes."""
    if isinstance(op, FusedOp):
        name = "kernel" if op.sym_name is None else op.sym_name.data
        return _interpreted(name, op), partial(evaluate_op, op)
    if not isinstance(op, LaunchOp):
        return op.name, partial(evaluate_op, op)
    name = op.callee.root_reference.data
    types = [result.type for result in op.outputs]
    dtypes = [_dtype(value) for value in op.inputs]
    if (kernel := kernels.get(name)) is not None:
        made = [(tuple(type.get_shape()), element_of(type).dtype) for type in types]
        return name, partial(_launched, kernel, dtypes, made)
    program = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(program, ProgramOp)
    return _interpreted(name, program), lambda arrays: run_program(program, list(map(convert, arrays, dtypes)), types)


def _interpreted(name: str, op: Operation) -> str:
    reason = op.attributes.get(INTERPRETED)
    return f"{name}, interpreted: {reason.data}" if isinstance(reason, StringAttr) else f"{name}, interpreted"


def _launched(
    kernel: CpuKernel,
    dtypes: Sequence[np.dtype[Any]],
    made: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
    arrays: Sequence[Array],
) -> Sequence[Array]:
    results = [np.empty(shape, dtype) for shape, dtype in made]
    kernel([*(_contiguous(convert(x, dtype)) for x, dtype in zip(arrays, dtypes, strict=True)), *results])
    return results
