"""A kernel made ready to run: its values get slots, its blocks become lists of steps.

Scalars that have the same operands are computed once, and outside of the loops and branches that they do not depend
on: they have no effect, so computing them for lanes or iterations that do not need them changes nothing. What is
counted (`--stats`) is the kernel's own code, not these steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue

from irc.dialects import cuda
from irc.interpreters.sim.registry import Rule, rule_of, waits
from irc.interpreters.sim.scalars import constant_value, evaluator, is_scalar
from irc.support.diagnostics import IrcError

Step: TypeAlias = Callable[[Any], Any]
"""Runs an op on a strand; a generator function where the op can wait."""


@dataclass
class Body:
    """A block: its steps, each with whether it can wait; the slots of its arguments and of what its end gives."""

    block: Block
    arguments: list[int]
    steps: list[tuple[Step, bool]] = field(default_factory=list[tuple[Step, bool]])
    yields: list[int] = field(default_factory=list[int])

    @property
    def waits(self) -> bool:
        return any(waiting for _, waiting in self.steps)


Compile: TypeAlias = Callable[
    ["KernelCode", Any, Sequence[int], Sequence[int], Sequence["Body | None"]], tuple[Step, bool]
]
"""From an op with regions, the slots of its operands and results and its bodies to its step."""

_CONTROL: dict[type[Operation], Compile] = {}


def controls(type: type[Operation]) -> Callable[[Compile], Compile]:
    """Register how an op with regions runs them."""

    def register(function: Compile) -> Compile:
        _CONTROL[type] = function
        return function

    return register


class KernelCode:
    """A compiled kernel. `environment` holds the constants; strands start from a copy of it."""

    def __init__(self, kernel: cuda.KernelOp):
        self.kernel = kernel
        self.index = np.dtype(np.int64 if kernel.index.value.data == 64 else np.int32)
        self.environment: list[Any] = []
        self.accesses: list[Operation] = []
        """The ops that access memory: the index of one is its number in the shadow of memory."""
        self._numbers: dict[Operation, int] = {}
        self._slots: dict[SSAValue, int] = {}
        self._levels: list[int] = []
        self._open: list[tuple[Body, dict[Any, int]]] = []
        self._constants: dict[int, Any] = {}
        self.body = self._body(kernel.body)
        self.arguments = self.body.arguments

    def number(self, op: Operation) -> int:
        """The number of an op that accesses memory."""
        if (known := self._numbers.get(op)) is None:
            known = self._numbers[op] = len(self.accesses)
            self.accesses.append(op)
        return known

    def _slot(self, value: SSAValue, level: int, constant: Any = None) -> int:
        slot = self._slots[value] = len(self.environment)
        self.environment.append(constant)
        self._levels.append(level)
        return slot

    def _body(self, region: Region) -> Body:
        block = region.block
        level = len(self._open)
        body = Body(block, [self._slot(argument, level) for argument in block.args])
        self._open.append((body, {}))
        for op in block.ops:
            if isinstance(op, scf.YieldOp | scf.ConditionOp):
                body.yields = [self._slots[value] for value in op.operands]
            elif not isinstance(op, cuda.ReturnOp):
                self._compile(op)
        self._open.pop()
        return body

    def _compile(self, op: Operation) -> None:
        if isinstance(op, arith.ConstantOp):
            self._slot(op.result, 0, constant_value(op, self.index))
            self._constants[self._slots[op.result]] = True
        elif is_scalar(op):
            self._compile_scalar(op)
        elif op.regions:
            self._compile_control(op)
        else:
            self._compile_rule(op)

    def _compile_scalar(self, op: Operation) -> None:
        operands = [self._slots[value] for value in op.operands]
        level = max((self._levels[slot] for slot in operands), default=0)
        body, known = self._open[level]
        key = (type(op), *map(self._identity, operands), str(op.properties), op.results[0].type)
        if (same := known.get(key)) is not None:
            self._slots[op.results[0]] = same
            return
        function = evaluator(op, self.index)
        if all(slot in self._constants for slot in operands):
            with np.errstate(all="ignore"):
                value = function(*(self.environment[slot] for slot in operands))
            self._constants[self._slot(op.results[0], 0, value)] = True
            return
        result = self._slot(op.results[0], level)
        known[key] = result
        body.steps.append((_scalar_step(function, operands, result), False))

    def _identity(self, slot: int) -> Any:
        """Equal for constants of one value, else the slot."""
        if slot not in self._constants:
            return slot
        value = self.environment[slot]
        return (str(value.dtype), value.tobytes())

    def _compile_control(self, op: Operation) -> None:
        compile = _CONTROL.get(type(op))
        if compile is None:
            raise _unknown(op)
        operands = [self._slots[value] for value in op.operands]
        bodies = [self._body(region) if region.blocks else None for region in op.regions]
        results = [self._slot(value, len(self._open) - 1) for value in op.results]
        self._open[-1][0].steps.append(compile(self, op, operands, results, bodies))

    def _compile_rule(self, op: Operation) -> None:
        rule = rule_of(op)
        if rule is None:
            raise _unknown(op)
        operands = [self._slots[value] for value in op.operands]
        results = [self._slot(value, len(self._open) - 1) for value in op.results]
        waiting = waits(op)
        step = _waiting_step(rule, op, operands, results) if waiting else _rule_step(rule, op, operands, results)
        row = cuda.SPELLINGS.get(type(op))
        if row is not None and row.whole_warps:
            step = _of_whole_warps(step, op)
        self._open[-1][0].steps.append((step, waiting))


def _unknown(op: Operation) -> IrcError:
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    return IrcError(f"the simulator has no meaning for {name}", op.location)


def _scalar_step(function: Callable[..., Any], operands: Sequence[int], result: int) -> Step:
    """By the number of operands: this is what runs most."""
    if len(operands) == 1:
        (a,) = operands

        def unary(s: Any) -> None:
            env = s.env
            env[result] = function(env[a])

        return unary
    if len(operands) == 2:
        a, b = operands

        def binary(s: Any) -> None:
            env = s.env
            env[result] = function(env[a], env[b])

        return binary

    def step(s: Any) -> None:
        env = s.env
        env[result] = function(*[env[slot] for slot in operands])

    return step


def _rule_step(rule: Rule, op: Operation, operands: Sequence[int], results: Sequence[int]) -> Step:
    if len(results) == 1:
        (result,) = results

        def single(s: Any) -> None:
            env = s.env
            env[result] = rule(s, op, *[env[slot] for slot in operands])

        return single

    def step(s: Any) -> None:
        env = s.env
        found = rule(s, op, *[env[slot] for slot in operands])
        for slot, value in zip(results, found or (), strict=True):
            env[slot] = value

    return step


def _of_whole_warps(step: Step, op: Operation) -> Step:
    def checked(s: Any) -> Any:
        s.require_whole_warps(op)
        return step(s)

    return checked


def _waiting_step(rule: Rule, op: Operation, operands: Sequence[int], results: Sequence[int]) -> Step:
    def step(s: Any) -> Generator[Any, Any, None]:
        env = s.env
        found = yield from rule(s, op, *[env[slot] for slot in operands])
        if len(results) == 1:
            found = (found,)
        for slot, value in zip(results, found or (), strict=True):
            env[slot] = value

    return step
