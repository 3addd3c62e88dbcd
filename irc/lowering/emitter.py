"""Building thread-level code: index arithmetic that folds as it is built, loops and branches.

An index value is a Python int where it is known and an SSA value of type `index` where it is not, so that
`e.add(x, 0)` costs nothing and the IR holds only what the thread has to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from irc.dialects import cuda
from irc.ir.discardable import UNROLL
from irc.ir.properties import constant_of

Index = int | SSAValue
"""A number known while compiling, or an SSA value of type `index`."""

INDEX = IndexType()


_NO_FLAGS = arith.IntegerOverflowAttr("none")
_WITH_OVERFLOW = frozenset({arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp})
"""Ops that say whether they may wrap around."""


@cache
def _integer(number: int, type: Attribute) -> IntegerAttr:
    assert isinstance(type, IndexType | IntegerType)
    return IntegerAttr(number, type)


def known(value: SSAValue) -> Index:
    """The number that a value is, where it is a constant."""
    number = constant_of(value)
    return value if number is None else number


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


class Emitter:
    """Inserts operations at the end of the current block, each with the current location."""

    def __init__(self, block: Block, location: LocationAttr) -> None:
        self.block = block
        self.location = location
        self._constants: dict[tuple[Block, Attribute, int], SSAValue] = {}

    # Insertion

    def insert(self, op: Operation) -> Operation:
        op.location = self.location
        for region in op.regions:
            for inner in region.walk():
                inner.location = self.location
        self.block.add_op(op)
        return op

    def value(self, op: Operation, hint: str | None = None) -> OpResult:
        """Inserts an op of one result and gives the result."""
        result = self.insert(op).results[0]
        if hint is not None:
            result.name_hint = hint
        return result

    @contextmanager
    def at(self, location: LocationAttr) -> Generator[None]:
        """Ops built inside carry `location`."""
        before, self.location = self.location, location
        yield
        self.location = before

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        before, self.block = self.block, block
        yield
        self.block = before

    # Constants and conversions

    def constant(self, number: int, type: Attribute = INDEX) -> SSAValue:
        """An integer constant, made once a block."""
        key = (self.block, type, number)
        if key not in self._constants:
            value = arith.ConstantOp.create(result_types=[type], properties={"value": _integer(number, type)})
            self._constants[key] = self.value(value)
        return self._constants[key]

    def _binary(self, op: type[Operation], a: Index, b: Index) -> OpResult:
        """An op of two numbers and a result of their type. `create` takes a third of the time of the constructors."""
        x, y = self.index(a), self.index(b)
        properties = {"overflowFlags": _NO_FLAGS} if op in _WITH_OVERFLOW else {}
        return self.value(op.create(operands=[x, y], result_types=[x.type], properties=properties))

    def index(self, x: Index) -> SSAValue:
        return self.constant(x) if isinstance(x, int) else x

    def i32(self, x: Index) -> SSAValue:
        """As a 32-bit integer: addresses of shared memory, TMA coordinates."""
        if isinstance(x, int):
            return self.constant(x, i32)
        return x if x.type == i32 else self.value(arith.IndexCastOp(x, i32))

    def counter(self, initial: int = 0) -> SSAValue:
        """A register that holds an index."""
        array = self.value(cuda.RegistersOp(1, INDEX))
        self.insert(cuda.SetOp(array, self.index(0), self.index(initial)))
        return array

    def read(self, counter: SSAValue) -> SSAValue:
        return self.value(cuda.GetOp(counter, self.index(0)))

    # Index arithmetic

    def add(self, a: Index, b: Index) -> Index:
        if isinstance(a, int):
            a, b = b, a
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return a if b == 0 else self._binary(arith.AddiOp, a, b)

    def sub(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._binary(arith.SubiOp, a, b)

    def mul(self, a: Index, b: Index) -> Index:
        if isinstance(a, int):
            a, b = b, a
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if b == 0:
            return 0
        if b == 1:
            return a
        if isinstance(b, int) and is_power_of_two(b):
            return self._binary(arith.ShLIOp, a, b.bit_length() - 1)
        return self._binary(arith.MuliOp, a, b)

    def div(self, a: Index, b: Index, *, signed: bool = False) -> Index:
        """Floor division; `a` is at least 0 unless `signed`."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        if b == 1:
            return a
        if isinstance(b, int) and is_power_of_two(b):
            shift = arith.ShRSIOp if signed else arith.ShRUIOp
            return self._binary(shift, a, b.bit_length() - 1)
        divide = arith.FloorDivSIOp if signed else arith.DivUIOp
        return self._binary(divide, a, b)

    def rem(self, a: Index, b: Index, *, signed: bool = False) -> Index:
        """The remainder of floor division; `a` is at least 0 unless `signed`."""
        if isinstance(a, int) and isinstance(b, int):
            return a % b
        if b == 1:
            return 0
        if isinstance(b, int) and is_power_of_two(b):
            return self._binary(arith.AndIOp, a, b - 1)
        if signed:
            return self.sub(a, self.mul(self.div(a, b, signed=True), b))
        return self._binary(arith.RemUIOp, a, b)

    def maximum(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self._binary(arith.MaxSIOp, a, b)

    def xor(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        return self._binary(arith.XOrIOp, a, b)

    def minimum(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self._binary(arith.MinSIOp, a, b)

    def compare(self, predicate: str, a: Index, b: Index) -> SSAValue:
        return self.value(arith.CmpiOp(self.index(a), self.index(b), predicate))

    def all(self, conditions: Sequence[SSAValue]) -> SSAValue | None:
        """The conjunction; None of none."""
        result: SSAValue | None = None
        for condition in conditions:
            result = condition if result is None else self.value(arith.AndIOp(result, condition))
        return result

    def select(self, condition: SSAValue, a: Index, b: Index) -> Index:
        return self.value(arith.SelectOp(condition, self.index(a), self.index(b)))

    def split(self, x: Index, sizes: Sequence[Index]) -> list[Index]:
        """Components of a linear index over extents `sizes`, the first the fastest; the last is not reduced."""
        components: list[Index] = []
        for position, size in enumerate(sizes):
            last = position == len(sizes) - 1
            components.append(x if last else self.rem(x, size))
            x = 0 if last else self.div(x, size)
        return components

    # Control flow

    @contextmanager
    def loop(
        self, start: Index, stop: Index, step: Index = 1, *, unroll: bool | int = False, hint: str = "i"
    ) -> Generator[Index]:
        """A loop without results; one of a single step has no loop around it. `unroll`: all steps, or so many."""
        if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and 0 < stop - start <= step:
            yield start
            return
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = hint
        op = scf.ForOp(self.index(start), self.index(stop), self.index(step), [], Region(body))
        if unroll:
            op.attributes[UNROLL] = UnitAttr() if unroll is True else IntegerAttr(unroll, i64)
        self.insert(op)
        with self.inside(body):
            yield body.args[0]
            self.insert(scf.YieldOp())

    @contextmanager
    def when(self, condition: SSAValue | None) -> Generator[None]:
        """Ops built inside run where the condition holds; without a condition, always."""
        if condition is None:
            yield
            return
        body = Block()
        self.insert(scf.IfOp(condition, [], Region(body)))
        with self.inside(body):
            yield
            self.insert(scf.YieldOp())

    def branch(self, condition: SSAValue, then: Callable[[], object], otherwise: Callable[[], object]) -> None:
        blocks = Block(), Block()
        self.insert(scf.IfOp(condition, [], Region(blocks[0]), Region(blocks[1])))
        for block, build in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                build()
                self.insert(scf.YieldOp())


@contextmanager
def emitted_before(op: Operation, location: LocationAttr) -> Generator[Emitter]:
    """Ops that are built inside stand before another one."""
    start, block = Block(), op.parent
    assert block is not None
    yield Emitter(start, location)
    for made in list(start.ops):
        made.detach()
        block.insert_op_before(made, op)
