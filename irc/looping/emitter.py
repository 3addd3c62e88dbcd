"""The ops of a loop nest, emitted in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from irc.ir.discardable import UNROLL
from irc.looping.forms import Form, Range, constant
from irc.support.integers import ceil_div

INDEX = IndexType()


@dataclass
class Emitter:
    """Adds ops at the end of `block`. What a block has computed is known in the blocks inside of it."""

    entry: Block
    location: LocationAttr
    block: Block = field(init=False)
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    _scopes: list[dict[Any, Any]] = field(default_factory=lambda: [{}])
    _bounds: list[tuple[Form, int | None, int | None]] = field(default_factory=list[Any])
    _segments: list[tuple[Form, int, Form]] = field(default_factory=list[Any])
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def __post_init__(self) -> None:
        self.block = self.entry

    def add(self, op: Operation) -> SSAValue:
        op.location = self.location
        self.block.add_op(op)
        return op.results[0] if op.results else self.entry.args[-1]

    def known(self, key: Any, make: Callable[[], Any]) -> Any:
        """What an enclosing block has computed for the key, else what `make` computes here."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        found = make()
        self._scopes[-1][key] = found
        return found

    # Index values

    def index(self, value: int) -> SSAValue:
        if value not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, INDEX))
            self._first(op)
            self._constants[value] = op.result
            self.ranges[op.result] = (value, value)
        return self._constants[value]

    def _first(self, op: Operation) -> None:
        """Adds an op to the beginning of the kernel."""
        op.location = self.location
        if self.entry.first_op is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, self.entry.first_op)

    def value(self, form: Form) -> SSAValue:
        """The index value of a form."""
        if form.is_constant:
            return self.index(form.constant)
        return self.known(form, lambda: self._computed(form))

    def _computed(self, form: Form) -> SSAValue:
        total: SSAValue | None = None
        for value, factor in form.terms:
            term = value if factor == 1 else self.add(arith.MuliOp(value, self.index(factor), INDEX))
            total = term if total is None else self.add(arith.AddiOp(total, term, INDEX))
        assert total is not None
        return self.add(arith.AddiOp(total, self.index(form.constant), INDEX)) if form.constant else total

    def divided(self, form: Form, by: int, *, is_rest: bool) -> Form:
        """form floordiv by, or form mod by."""
        for known, width, quotient in self._segments:
            difference = form - known
            if by % width == 0 and difference.is_constant and difference.constant % width == 0:
                whole = quotient + difference.constant // width
                whole = whole if by == width else self.divided(whole, by // width, is_rest=False)
                if is_rest:
                    self.bound(form - whole * by, 0, by)
                return form - whole * by if is_rest else whole
        bounds = form.bounds(self.ranges)
        if bounds is not None and bounds[0] // by == bounds[1] // by:
            quotient = bounds[0] // by
            return form - quotient * by if is_rest else constant(quotient)
        whole = Form(tuple((v, f) for v, f in form.terms if f % by == 0), form.constant - form.constant % by)
        rest = form - whole
        if whole != constant(0):
            part = self.divided(rest, by, is_rest=is_rest)
            return part if is_rest else part + _quotient(whole, by)
        return self.known(("rest" if is_rest else "quotient", form, by), lambda: self._division(form, by, is_rest))

    def _division(self, form: Form, by: int, is_rest: bool) -> Form:
        bounds = form.bounds(self.ranges)
        value, divisor = self.value(form), self.index(by)
        if bounds is not None and bounds[0] >= 0:
            quotient = self.add(arith.DivUIOp(value, divisor))
        else:
            quotient = self.add(arith.FloorDivSIOp(value, divisor))
        if bounds is not None:
            self.ranges[quotient] = (bounds[0] // by, bounds[1] // by)
        if not is_rest:
            return Form.of(quotient)
        rest = self.value(form - Form.of(quotient) * by)
        self.ranges[rest] = (0, by - 1)
        return Form.of(rest)

    def least(self, forms: Sequence[Form]) -> Form:
        """The least of values."""
        return self._extreme(forms, arith.MinSIOp, 0)

    def greatest(self, forms: Sequence[Form]) -> Form:
        return self._extreme(forms, arith.MaxSIOp, 1)

    def _extreme(self, forms: Sequence[Form], op: Any, side: int) -> Form:
        total, *rest = dict.fromkeys(forms)
        for form in rest:
            difference = (form - total if side == 0 else total - form).bounds(self.ranges)
            if difference is not None and difference[0] >= 0:
                continue
            is_it = difference is not None and difference[1] <= 0
            total = form if is_it else self.known((op, total, form), partial(self._of_two, total, form, op, side))
        return total

    def _of_two(self, a: Form, b: Form, op: Any, side: int) -> Form:
        value = self.add(op(self.value(a), self.value(b)))
        choose, (first, second) = min if side == 0 else max, (form.bounds(self.ranges) for form in (a, b))
        if first is not None and second is not None:
            self.ranges[value] = (choose(first[0], second[0]), choose(first[1], second[1]))
        return Form.of(value)

    def zero(self, element: Attribute) -> SSAValue:
        """0 of an element type."""
        return self.number(0, element)

    def number(self, value: float | int, element: Attribute) -> SSAValue:
        """A constant of an element type."""
        if isinstance(element, AnyFloat):
            return self.add(arith.ConstantOp(FloatAttr(float(value), element)))
        assert isinstance(element, IntegerType | IndexType)
        return self.add(arith.ConstantOp(IntegerAttr(int(value), element)))

    # Memory

    def allocated(self, elements: int, type: Attribute) -> SSAValue:
        """Memory of a thread's own."""
        op = memref.AllocaOp.get(type, None, [elements])
        self._first(op)
        return op.memref

    def loaded(self, memory: SSAValue, at: Form) -> SSAValue:
        return self.add(memref.LoadOp.get(memory, [self.value(at)]))

    def stored(self, value: SSAValue, memory: SSAValue, at: Form) -> None:
        self.add(memref.StoreOp.get(value, memory, [self.value(at)]))

    # Bounds that hold in a block

    def is_inside(self, form: Form, low: int | None, high: int | None) -> bool:
        """Whether low <= form < high is known here."""
        bounds = form.bounds(self.ranges)
        above = low is None or (bounds is not None and bounds[0] >= low)
        below = high is None or (bounds is not None and bounds[1] < high)
        for known, known_low, known_high in self._bounds:
            if above and below:
                break
            difference = form - known
            if not difference.is_constant:
                continue
            shift = difference.constant
            above = above or (known_low is not None and low is not None and known_low + shift >= low)
            below = below or (known_high is not None and high is not None and known_high + shift <= high)
        return above and below

    def bound(self, form: Form, low: int | None, high: int | None) -> None:
        """Says that low <= form < high holds until the block ends."""
        self._bounds.append((form, low, high))

    @contextmanager
    def segments(self, offset: Form, extent: int, width: int) -> Generator[Form]:
        """A loop over 0 to extent in segments, in each of which (offset + index) floordiv width is one number: nothing
        is divided in the inner loop, whose index it gives."""
        phase = self.divided(offset, width, is_rest=True)
        first = self.divided(offset, width, is_rest=False)
        count = ceil_div(extent, width) + (phase != constant(0))
        with self.loop(constant(0), constant(count)) as number:
            begin = self.greatest([number * width - phase, constant(0)])
            end = self.least([(number + 1) * width - phase, constant(extent)])
            quotient = self.value(first + number)
            with self.loop(begin, self.greatest([begin, end])) as index:
                self._segments.append((offset + index, width, Form.of(quotient)))
                yield index

    # Blocks

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        outer, count, segments = self.block, len(self._bounds), len(self._segments)
        self.block = block
        self._scopes.append({})
        yield
        self._scopes.pop()
        del self._bounds[count:]
        del self._segments[segments:]
        self.block = outer

    @contextmanager
    def loop(self, low: Form, high: Form, *, at_once: bool = False) -> Generator[Form]:
        """A loop without carried values; gives its index. at_once: its iterations are elements of one vector."""
        block = Block(arg_types=[INDEX])
        self.ranged(block.args[0], low, high, 1)
        loop = scf.ForOp(self.value(low), self.value(high), self.index(1), [], Region(block))
        if at_once:
            loop.attributes[UNROLL] = UnitAttr()
        self.add(loop)
        with self.inside(block):
            yield Form.of(block.args[0])
            self.add(scf.YieldOp())

    def ranged(self, value: SSAValue, low: Form, high: Form, step: int) -> None:
        lows, highs = low.bounds(self.ranges), high.bounds(self.ranges)
        if lows is None or highs is None:
            return
        least, greatest = lows[0], highs[1]
        if low.is_constant and high.is_constant:
            greatest = max(least, least + (greatest - 1 - least) // step * step) + 1
        self.ranges[value] = (least, max(least, greatest - 1))

    @contextmanager
    def loops(self, ends: Sequence[tuple[int, Form, Form]], rank: int) -> Generator[list[Form]]:
        """Loops one inside the other over the axes of (axis, low, high), outermost first; gives an index for each of
        `rank` axes, 0 for others."""
        indices = [constant(0)] * rank
        if not ends:
            yield indices
            return
        (axis, low, high), *rest = ends
        with self.loop(low, high) as index, self.loops(rest, rank) as inner:
            inner[axis] = index
            yield inner

    def carried(
        self,
        low: Form,
        high: Form,
        initial: Sequence[SSAValue],
        step: Callable[[Form, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """A loop that carries values; gives the last ones."""
        block = Block(arg_types=[INDEX, *(value.type for value in initial)])
        self.ranged(block.args[0], low, high, 1)
        loop = scf.ForOp(self.value(low), self.value(high), self.index(1), list(initial), Region(block))
        self.add(loop)
        with self.inside(block):
            self.add(scf.YieldOp(*step(Form.of(block.args[0]), block.args[1:])))
        return list(loop.results)

    def chosen(
        self, condition: SSAValue, type: Attribute, then: Callable[[], SSAValue], otherwise: Callable[[], SSAValue]
    ) -> SSAValue:
        """The value of a branch."""
        blocks = Block(), Block()
        op = scf.IfOp(condition, [type], [blocks[0]], [blocks[1]])
        self.add(op)
        for block, make in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                self.add(scf.YieldOp(make()))
        return op.results[0]

    @contextmanager
    def when(self, conditions: Sequence[SSAValue]) -> Generator[None]:
        """A block that runs where all conditions hold."""
        if not conditions:
            yield
            return
        block = Block()
        self.add(scf.IfOp(self.all_of(conditions), [], [block]))
        with self.inside(block):
            yield
            self.add(scf.YieldOp())

    def all_of(self, conditions: Sequence[SSAValue]) -> SSAValue:
        total, *rest = conditions
        for condition in rest:
            total = self.add(arith.AndIOp(total, condition))
        return total

    def tests(self, form: Form, high: int) -> list[SSAValue]:
        """The tests, of those that are not known here, whether 0 <= form < high."""
        found: list[SSAValue] = []
        if not self.is_inside(form, 0, None):
            found.append(self.add(arith.CmpiOp(self.value(form), self.index(0), "sge")))
        if not self.is_inside(form, None, high):
            found.append(self.add(arith.CmpiOp(self.value(form), self.index(high), "slt")))
        return found


def _quotient(form: Form, by: int) -> Form:
    return Form(tuple((v, f // by) for v, f in form.terms), form.constant // by)
