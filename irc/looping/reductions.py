"""Loops of reductions.

A reduction along what is contiguous keeps its value in registers: LLVM makes vectors of those of one op, which it may
reassociate. Combiners of several ops have lanes: memory with a value for every element of a vector. A reduction along
another axis keeps its values in memory, and has what is contiguous innermost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerType, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, SSAValue

from irc.dialects import tile
from irc.looping.emitter import Emitter
from irc.looping.forms import Form, constant
from irc.looping.unsupported import Unsupported
from irc.looping.values import Buffer, Value, whole
from irc.support.integers import ceil_div

Step = Callable[[Form, Sequence[SSAValue]], Sequence[SSAValue]]
"""What a loop does with the values that it carries."""


LANES = 32
"""Values that a combiner of several ops keeps side by side."""

FEW = 4
"""Of them that are combined one after the other."""

BLOCK = 8192
"""Elements whose f32 sum begins anew: errors of long sums grow with the blocks, not with the elements."""


def reduce(emitter: Emitter, op: tile.ReduceOp, inputs: Sequence[Value], kept: Buffer | None = None) -> list[Buffer]:
    """The reductions, in memory. kept: where the elements of the one input are written, too."""
    shape, axes = inputs[0].shape, [axis for axis in op.axis_values if inputs[0].shape[axis] > 1]
    fast = next((value.fast for value in inputs if value.fast is not None), None)
    result = tuple(1 if axis in op.axis_values else n for axis, n in enumerate(shape))
    buffers = [
        Buffer.new(emitter, result, tile.element_type_of(output.type), None if fast in axes else fast)
        for output in op.outputs
    ]
    order = Value(shape, inputs[0].element, fast).order
    outer, reduced = [axis for axis in order if axis not in axes], [axis for axis in order if axis in axes]
    nest = _Nest(emitter, op, inputs, buffers, kept)
    if not reduced or order[-1] in reduced or not outer:
        nest.in_registers(outer, reduced)
    else:
        nest.in_memory(outer, reduced)
    for buffer in [*buffers, *([] if kept is None else [kept])]:
        buffer.version += 1
    return buffers


class _Nest:
    """The loops of one reduction."""

    def __init__(
        self,
        emitter: Emitter,
        op: tile.ReduceOp,
        inputs: Sequence[Value],
        buffers: Sequence[Buffer],
        kept: Buffer | None,
    ):
        self._kept = kept
        self._emitter = emitter
        self._op = op
        self._inputs = inputs
        self._buffers = buffers
        self._rank = len(inputs[0].shape)
        self._neutral = neutral_of(op.body.block)

    def in_registers(self, kept: Sequence[int], reduced: Sequence[int]) -> None:
        """For each kept element a loop that carries values."""
        emitter = self._emitter
        with emitter.loops(whole(self._inputs[0], kept), self._rank) as indices:
            if self._neutral is None and len(reduced) == 1 and self._inputs[0].shape[reduced[0]] >= 2 * LANES:
                values = self._in_lanes(indices, reduced[0])
            else:
                first, begins = self._first(indices, reduced)
                values = self._carried(indices, reduced, begins, first)
            for buffer, value in zip(self._buffers, values, strict=True):
                buffer.store(emitter, indices, value)

    def _first(self, indices: Sequence[Form], reduced: Sequence[int]) -> tuple[list[SSAValue], int]:
        """What the values begin with, and from which element on it is combined with others."""
        if self._neutral is not None:
            return [self._emitter.number(self._neutral, value.element) for value in self._inputs], 0
        if len(reduced) > 1:
            raise Unsupported("a reduction over several axes without a neutral element")
        return self._elements(indices), 1

    def _elements(self, indices: Sequence[Form]) -> list[SSAValue]:
        elements = [value.at(self._emitter, indices) for value in self._inputs]
        if self._kept is not None:
            self._kept.store(self._emitter, indices, elements[0])
        return elements

    def _carried(
        self, indices: list[Form], reduced: Sequence[int], begins: int, values: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        if not reduced:
            return values if begins else self._combined(values, self._elements(indices))
        axis, *inner = reduced

        def step(index: Form, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = [index if each == axis else form for each, form in enumerate(indices)]
            if inner:
                return self._carried(at, inner, 0, carried)
            return self._combined(carried, self._elements(at))

        extent = self._inputs[0].shape[axis]
        if not inner and not begins and extent > BLOCK and isinstance(values[0].type, Float32Type):
            return self._in_blocks(extent, values, step)
        return self._emitter.carried(constant(begins), constant(extent), values, step)

    def _in_blocks(self, extent: int, values: Sequence[SSAValue], step: Step) -> Sequence[SSAValue]:
        """Joins the values of blocks, each from the neutral element on, one after the other."""
        emitter = self._emitter
        neutral = [emitter.number(self._neutral or 0, value.element) for value in self._inputs]

        def block(index: Form, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            begin = index * BLOCK
            end = emitter.least([begin + BLOCK, constant(extent)])
            return self._combined(carried, emitter.carried(begin, end, neutral, step))

        return emitter.carried(constant(0), constant(ceil_div(extent, BLOCK)), values, block)

    def _in_lanes(self, indices: list[Form], axis: int) -> Sequence[SSAValue]:
        """Combines elements that are `LANES` apart, then halves of the lanes, then what is left over."""
        emitter, extent = self._emitter, self._inputs[0].shape[axis]
        lanes = [Buffer.new(emitter, (LANES,), value.element, 0) for value in self._inputs]

        def elements(at: Form) -> list[SSAValue]:
            return self._elements([at if each == axis else form for each, form in enumerate(indices)])

        def step(at: Form, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._combined(carried, elements(at))

        def write(lane: Form, values: Sequence[SSAValue]) -> None:
            for buffer, value in zip(lanes, values, strict=True):
                buffer.store(emitter, [lane], value)

        with emitter.loop(constant(0), constant(LANES), at_once=True) as lane:
            write(lane, elements(lane))
        parts = emitter.loop(constant(1), constant(extent // LANES))
        with parts as part, emitter.loop(constant(0), constant(LANES), at_once=True) as lane:
            before = [buffer.at(emitter, [lane]) for buffer in lanes]
            write(lane, self._combined(before, elements(part * LANES + lane)))
        for buffer in lanes:
            buffer.version += 1

        joined = self._joined(lanes)
        return emitter.carried(constant(extent - extent % LANES), constant(extent), joined, step)

    def _joined(self, lanes: Sequence[Buffer]) -> Sequence[SSAValue]:
        """Combines halves of lanes, into memory of their own, until few are left."""
        emitter, width = self._emitter, LANES
        while width > FEW:
            width //= 2
            halves = [Buffer.new(emitter, (width,), buffer.element, 0) for buffer in lanes]
            with emitter.loop(constant(0), constant(width), at_once=True) as lane:
                sides = [buffer.at(emitter, [at]) for at in (lane, lane + width) for buffer in lanes]
                for buffer, value in zip(halves, combine(emitter, self._op.body.block, sides), strict=True):
                    buffer.store(emitter, [lane], value)
            lanes = halves
        values = [buffer.at(emitter, [constant(0)]) for buffer in lanes]
        for lane in range(1, width):
            values = self._combined(values, [buffer.at(emitter, [constant(lane)]) for buffer in lanes])
        return values

    def _combined(self, values: Sequence[SSAValue], elements: Sequence[SSAValue]) -> list[SSAValue]:
        return combine(self._emitter, self._op.body.block, [*values, *elements], reassociate=True)

    def in_memory(self, kept: Sequence[int], reduced: Sequence[int]) -> None:
        """The kept elements innermost, in memory, which is gone over for each of the others."""
        emitter = self._emitter
        with emitter.loops(whole(self._inputs[0], kept), self._rank) as indices:
            for buffer, value in zip(self._buffers, self._first(indices, reduced)[0], strict=True):
                buffer.store(emitter, indices, value)
        self._written()
        begins = 0 if self._neutral is not None else 1
        outer = whole(self._inputs[0], reduced)
        ends = [*outer[:-1], (outer[-1][0], constant(begins), outer[-1][2])]
        with emitter.loops([*ends, *whole(self._inputs[0], kept)], self._rank) as indices:
            before = [buffer.at(emitter, indices) for buffer in self._buffers]
            after = combine(emitter, self._op.body.block, [*before, *self._elements(indices)])
            for buffer, value in zip(self._buffers, after, strict=True):
                buffer.store(emitter, indices, value)

    def _written(self) -> None:
        for buffer in self._buffers:
            buffer.version += 1


def any_of(emitter: Emitter, value: Value) -> SSAValue:
    """Whether an element of a tile of i1 is true."""
    total: SSAValue = emitter.number(0, i1)

    def over(axes: Sequence[int], indices: list[Form], carried: SSAValue) -> SSAValue:
        if not axes:
            return emitter.add(arith.OrIOp(carried, value.at(emitter, indices)))
        axis, *inner = axes

        def step(index: Form, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = [index if each == axis else form for each, form in enumerate(indices)]
            return [over(inner, at, values[0])]

        return emitter.carried(constant(0), constant(value.shape[axis]), [carried], step)[0]

    return over(value.order, [constant(0)] * len(value.shape), total)


def combine(
    emitter: Emitter, block: Block, arguments: Sequence[SSAValue], *, reassociate: bool = False
) -> list[SSAValue]:
    """What a combiner gives. reassociate: it may join elements in another order, as combiners are associative."""
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    *ops, last = block.ops
    is_alone = len(ops) == 1
    for op in ops:
        if op.regions or any(operand not in values for operand in op.operands):
            raise Unsupported(f"{op.name} in a combiner")
        copy = op.clone(values)
        if reassociate and is_alone and isinstance(copy, arith.AddfOp | arith.MulfOp):
            copy.fastmath = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
        emitter.add(copy)
        values.update(zip(op.results, copy.results, strict=True))
    return [values[operand] for operand in last.operands]


def neutral_of(block: Block) -> float | int | None:
    """What a combiner of one op leaves other elements as they are with; None of other combiners."""
    op, *others = block.ops
    if len(others) != 1 or set(op.operands) != set(block.args) or len(block.args) != 2:
        return None
    type = op.results[0].type
    return _NEUTRAL[op.__class__](type) if op.__class__ in _NEUTRAL else None


def _limit(side: int, *, signed: bool = True):
    def of(type: Attribute) -> int | None:
        if not isinstance(type, IntegerType):
            return None
        bits = type.width.data
        ends = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed and bits > 1 else (0, (1 << bits) - 1)
        return ends[side]

    return of


def _all_ones(type: Attribute) -> int:
    return 1 if isinstance(type, IntegerType) and type.width.data == 1 else -1


_NEUTRAL = {
    arith.AddfOp: lambda type: 0.0,
    arith.MulfOp: lambda type: 1.0,
    arith.MaximumfOp: lambda type: -inf,
    arith.MaxnumfOp: lambda type: -inf,
    arith.MinimumfOp: lambda type: inf,
    arith.MinnumfOp: lambda type: inf,
    arith.AddiOp: lambda type: 0,
    arith.MuliOp: lambda type: 1,
    arith.OrIOp: lambda type: 0,
    arith.XOrIOp: lambda type: 0,
    arith.AndIOp: _all_ones,
    arith.MaxSIOp: _limit(0),
    arith.MinSIOp: _limit(1),
    arith.MaxUIOp: _limit(0, signed=False),
}
"""By the one op of a combiner: the neutral element of a type."""
