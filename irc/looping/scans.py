"""Loops of scans: one element after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.looping.emitter import Emitter
from irc.looping.forms import ZERO, Form, constant
from irc.looping.reductions import combine
from irc.looping.values import Buffer, Value, whole

TOGETHER = 8
"""Rows that are scanned at once, at most."""


def scan(emitter: Emitter, op: tile.ScanOp, inputs: Sequence[Value]) -> list[Buffer]:
    """The scans, in memory."""
    shape = inputs[0].shape
    fast = next((value.fast for value in inputs if value.fast is not None), None)
    buffers = [Buffer.new(emitter, shape, tile.element_type_of(output.type), fast) for output in op.outputs]
    others = [each for each in Value(shape, inputs[0].element, fast).order if each != op.axis_value]
    nest = _Nest(emitter, op, inputs, buffers)
    if fast in others:
        nest.along_columns(others)
    else:
        nest.along_rows(others)
    for buffer in buffers:
        buffer.version += 1
    return buffers


@dataclass(frozen=True)
class _Nest:
    """The loops of one scan."""

    emitter: Emitter
    op: tile.ScanOp
    inputs: Sequence[Value]
    buffers: Sequence[Buffer]

    def along_columns(self, others: Sequence[int]) -> None:
        """What is contiguous innermost: row after row, each from the one before it in memory."""
        emitter, axis = self.emitter, self.op.axis_value
        *outer, fast = whole(self.inputs[0], others)
        with emitter.loops(outer, self._rank) as indices:
            with emitter.loops([fast], self._rank) as inner:
                places = _with(indices, {fast[0]: inner[fast[0]]})
                self._write(places, self._elements(places))
            with emitter.loops([(axis, constant(1), constant(self._extent)), fast], self._rank) as inner:
                places = _with(indices, {each: inner[each] for each in (axis, fast[0])})
                before = _with(places, {axis: places[axis] - 1})
                self._write(places, self._combined([b.at(emitter, before) for b in self.buffers], places))

    def along_rows(self, others: Sequence[int]) -> None:
        """Values in registers; of several rows at once, as each operation waits for the one before it."""
        emitter, shape = self.emitter, self.inputs[0].shape
        if not others:
            self._carry([[ZERO] * self._rank])
            return
        *outer, last = others
        together = max(n for n in range(1, TOGETHER + 1) if shape[last] % n == 0)
        rows = (last, ZERO, constant(shape[last] // together))
        with emitter.loops([*whole(self.inputs[0], outer), rows], self._rank) as indices:
            self._carry([_with(indices, {last: indices[last] * together + row}) for row in range(together)])

    def _carry(self, rows: Sequence[Sequence[Form]]) -> None:
        """Goes along rows that begin at these indices, side by side."""
        axis, count = self.op.axis_value, len(self.buffers)
        first = [self._elements(row) for row in rows]
        for row, values in zip(rows, first, strict=True):
            self._write(row, values)

        def step(index: Form, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            places = [_with(row, {axis: index}) for row in rows]
            after = [self._combined(carried[at * count :][:count], place) for at, place in enumerate(places)]
            for place, values in zip(places, after, strict=True):
                self._write(place, values)
            return [value for values in after for value in values]

        initial = [value for values in first for value in values]
        self.emitter.carried(constant(1), constant(self._extent), initial, step)

    @property
    def _rank(self) -> int:
        return len(self.inputs[0].shape)

    @property
    def _extent(self) -> int:
        return self.inputs[0].shape[self.op.axis_value]

    def _elements(self, places: Sequence[Form]) -> list[SSAValue]:
        return [value.at(self.emitter, places) for value in self.inputs]

    def _combined(self, before: Sequence[SSAValue], places: Sequence[Form]) -> list[SSAValue]:
        return combine(self.emitter, self.op.body.block, [*before, *self._elements(places)])

    def _write(self, places: Sequence[Form], values: Sequence[SSAValue]) -> None:
        for buffer, value in zip(self.buffers, values, strict=True):
            buffer.store(self.emitter, places, value)


def _with(indices: Sequence[Form], places: dict[int, Form]) -> list[Form]:
    return [places.get(axis, form) for axis, form in enumerate(indices)]
