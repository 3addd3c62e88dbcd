"""The lowering of a tile program op by op: its values, its index computations and its accesses to memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects import tile
from irc.dialects.cpu import KernelOp
from irc.looping.accesses import ViewAccess
from irc.looping.emitter import Emitter
from irc.looping.forms import Form, constant
from irc.looping.unsupported import Unsupported
from irc.looping.values import Value

Rules = Mapping[type[Operation], Callable[["Lowering", Any], None]]
"""How each op on tiles is lowered."""


class Lowering:
    """The lowering of one program. A value of it is a tile, an index as a form, or another scalar."""

    def __init__(self, program: tile.ProgramOp, kernel: KernelOp, rules: Rules):
        self._program = program
        self._kernel = kernel
        self._rules = rules
        self.emitter = Emitter(kernel.body.block, program.location)
        self.values: dict[SSAValue, Value | Form | SSAValue] = {}
        self.unwritten: dict[Operation, Value] = {}
        """By reductions: their input, where they write it to memory while they read it."""
        self.memory: dict[SSAValue, SSAValue] = dict(zip(program.body.block.args, kernel.memory, strict=True))
        for arg, memory in self.memory.items():
            memory.name_hint = arg.name_hint

    def run(self) -> None:
        if self._program.summed:
            raise Unsupported("sums that tiles add to in any order")
        if self._program.updated:
            raise Unsupported("a result that keeps what an operand holds")
        first = Form.of(self._kernel.first)
        self.emitter.ranges[self._kernel.first] = (0, self._kernel.tile_count)
        self.emitter.ranges[self._kernel.end] = (0, self._kernel.tile_count)
        at = 0
        for op in self._program.body.block.ops:
            if not isinstance(op, tile.ForTilesOp):
                self.lower(op)
                continue
            self._for_tiles(op, first, at)
            at += prod(op.tile_counts)

    def _for_tiles(self, op: tile.ForTilesOp, first: Form, at: int) -> None:
        """A loop over those tiles of the range that are its own, which begin with number `at`."""
        emitter, counts = self.emitter, op.tile_counts
        low = emitter.greatest([first - at, constant(0)])
        high = emitter.least([Form.of(self._kernel.end) - at, constant(prod(counts))])
        if 0 in counts:
            return
        with emitter.loop(low, high) as number:
            for value, _ in number.terms:
                emitter.ranges[value] = (0, prod(counts) - 1)
            for dim, argument in reversed(list(enumerate(op.offsets))):
                rest = emitter.divided(number, counts[dim], is_rest=True)
                number = emitter.divided(number, counts[dim], is_rest=False)
                self.values[argument] = rest * op.step_values[dim]
            self._block(op.body.block)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self.emitter.location = op.location
            self.lower(op)

    def lower(self, op: Operation) -> None:
        if (rule := self._rules.get(type(op))) is not None:
            rule(self, op)
        elif op.regions or any(isinstance(result.type, TensorType) for result in op.results):
            raise Unsupported(f"{op.name}")
        else:
            self._scalar(op)

    # Scalars

    def form(self, value: SSAValue) -> Form:
        found = self.values[value]
        assert isinstance(found, Form)
        return found

    def value(self, value: SSAValue) -> Value:
        found = self.values[value]
        assert isinstance(found, Value)
        return found

    def scalar(self, value: SSAValue) -> SSAValue:
        found = self.values[value]
        assert not isinstance(found, Value)
        return self.emitter.value(found) if isinstance(found, Form) else found

    def _scalar(self, op: Operation) -> None:
        (result,) = op.results
        if isinstance(result.type, IndexType) and (form := self._linear(op)) is not None:
            self.values[result] = form
            return
        emitter = self.emitter
        copy = op.clone({operand: self.scalar(operand) for operand in op.operands})
        made = emitter.add(copy)
        if isinstance(op, arith.MinSIOp | arith.MaxSIOp) and isinstance(result.type, IndexType):
            first, second = (self.form(operand).bounds(emitter.ranges) for operand in op.operands)
            choose = min if isinstance(op, arith.MinSIOp) else max
            if first is not None and second is not None:
                emitter.ranges[made] = (choose(first[0], second[0]), choose(first[1], second[1]))
        self.values[result] = Form.of(made) if isinstance(result.type, IndexType) else made

    def _linear(self, op: Operation) -> Form | None:
        """An index as a form of others."""
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return constant(op.value.value.data)
        if isinstance(op, arith.AddiOp):
            return self.form(op.lhs) + self.form(op.rhs)
        if isinstance(op, arith.SubiOp):
            return self.form(op.lhs) - self.form(op.rhs)
        if not isinstance(op, arith.MuliOp | arith.DivUIOp | arith.RemUIOp | arith.FloorDivSIOp):
            return None
        a, b = self.form(op.operands[0]), self.form(op.operands[1])
        if not b.is_constant:
            return None
        if isinstance(op, arith.MuliOp):
            return a * b.constant
        if b.constant <= 0:
            return None
        return self.emitter.divided(a, b.constant, is_rest=isinstance(op, arith.RemUIOp))

    # Memory

    def access(self, op: tile.AccessOp, shape: tuple[int, ...], tap: tuple[int, ...] = ()) -> ViewAccess:
        symbols = tuple(self._symbol(symbol) for symbol in op.symbols)
        return ViewAccess(op, self.memory[op.view], shape, tuple(map(self.form, op.offsets)), symbols, tap)

    def _symbol(self, symbol: SSAValue) -> Form | Value:
        found = self.values[symbol]
        return found if isinstance(found, Form | Value) else Form.of(found)
