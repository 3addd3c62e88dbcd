"""Spaces: the tiles that one elementwise computation touches. All of them share one fragment, so that no element has
to move.

A map joins its operands and its result, a reduction its operands and results (a result of extent 1 is the fragment
projected), a loop what it carries, an access the tiles that gather. A slice, a permutation and a conversion lead from
one space to another.

A tile of extent 1 along an axis joins others in the other axes only: the rows of two tiles that meet in a vector
agree, their columns do not. Tiles of unequal extents that are joined so are *neighbors*: each has a space of its own,
and their fragments are chosen together, with one projection onto the vectors where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.ir.blocks import end_of
from irc.layout.fragment import Fragment


@dataclass(eq=False)
class Space:
    """Joined tiles. `shape` is the largest extent of each dimension; `scans` are axes along which a thread has to
    hold runs of neighbors; `dots` accumulate into it, `factors` have it as their left operand. `neighbors` are the
    spaces that meet in its vectors, itself among them."""

    values: list[SSAValue]
    neighbors: tuple[Space, ...] = ()
    accesses: list[tuple[tile.AccessOp, SSAValue]] = field(default_factory=list[tuple[tile.AccessOp, SSAValue]])
    scans: set[int] = field(default_factory=set[int])
    dots: list[tile.DotOp] = field(default_factory=list[tile.DotOp])
    factors: list[tile.DotOp] = field(default_factory=list[tile.DotOp])
    fragment: Fragment | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        shapes = [shape_of(v.type) for v in self.values]
        return tuple(max(extents) for extents in zip(*shapes, strict=True))

    def layout(self, value: SSAValue) -> Fragment:
        """The fragment of one of the values."""
        assert self.fragment is not None
        return self.fragment.onto(shape_of(value.type))


class _Union:
    def __init__(self) -> None:
        self.parent: dict[SSAValue, SSAValue] = {}

    def find(self, value: SSAValue) -> SSAValue:
        root = self.parent.setdefault(value, value)
        while self.parent[root] is not root:
            self.parent[root] = self.parent[self.parent[root]]
            root = self.parent[root]
        self.parent[value] = root
        return root

    def join(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self.parent[self.find(value)] = self.find(values[0])

    def parts(self) -> list[list[SSAValue]]:
        """The joined values, in the order in which they were found."""
        parts: dict[SSAValue, list[SSAValue]] = {}
        for value in list(self.parent):
            parts.setdefault(self.find(value), []).append(value)
        return list(parts.values())


def collect(program: tile.ProgramOp) -> dict[SSAValue, Space]:
    """Every tile value of a program with its space, in program order."""
    union = _Union()
    joins: list[list[SSAValue]] = []
    for op in program.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if isinstance(value.type, TensorType):
                union.find(value)
        for values in _joined(op):
            joins.append([value for value in values if isinstance(value.type, TensorType)])
            union.join(joins[-1])
    of = {value: space for values in union.parts() for space in _cut(values, joins) for value in space.values}
    of = {value: of[value] for value in union.parent}
    for op in program.walk():
        _describe(of, op)
    return of


def _cut(values: Sequence[SSAValue], joins: Sequence[Sequence[SSAValue]]) -> list[Space]:
    """The spaces of joined tiles: one, unless they have unequal extents. Then one for each of the largest shapes. Tiles
    of a smaller one, vectors, are in the first that they meet, or else that they fit."""
    shapes = list(dict.fromkeys(shape_of(value.type) for value in values))
    if all(len({extent for extent in extents if extent != 1}) <= 1 for extents in zip(*shapes, strict=True)):
        return _neighbors([Space(list(values))])
    spaces = {s: Space([]) for s in shapes if not any(_fits(s, other) for other in shapes if other != s)}
    parts, inside = _Union(), set(values)
    for value in values:
        parts.find(value)
    joins = [join for join in joins if inside.issuperset(join)]
    for join in joins:
        for shape in {shape_of(value.type) for value in join}:
            parts.join([value for value in join if shape_of(value.type) == shape])
    for part in parts.parts():
        met = [shape_of(other.type) for join in joins if not set(part).isdisjoint(join) for other in join]
        own = shape_of(part[0].type)
        spaces[next(s for s in (*met, *spaces) if s in spaces and _fits(own, s))].values.extend(part)
    return _neighbors(list(spaces.values()))


def _neighbors(spaces: list[Space]) -> list[Space]:
    for space in spaces:
        space.neighbors = tuple(spaces)
    return spaces


def _fits(shape: Sequence[int], larger: Sequence[int]) -> bool:
    """Whether a tile can be broadcast to another."""
    return all(own in (1, extent) for own, extent in zip(shape, larger, strict=True))


def _joined(op: Operation) -> list[Sequence[SSAValue]]:
    """The values that an op joins, scalars among them."""
    match op:
        case tile.MapOp():
            return [(op.result, *op.inputs)]
        case tile.CombinerOp():
            return [(*op.inputs, *op.outputs)]
        case tile.DotOp():
            return [(op.acc, op.result)]
        case tile.DotWaitOp():
            return [(op.acc, op.result)]
        case tile.SumWarpsOp():
            return [(op.source, op.result)]
        case tile.LoadOp():
            return [(op.result, *op.symbols)]
        case tile.LoadWindowOp():
            return [(*op.outputs, *op.symbols)]
        case tile.StoreOp():
            return [(op.tile, *op.symbols)]
        case scf.ForOp():
            block = op.body.block
            last = end_of(block)
            return list(zip(op.iter_args, block.args[1:], op.results, last.operands, strict=True))
        case scf.IfOp() if op.results:
            sides = [region.block.last_op for region in op.regions]
            return list(zip(op.results, *(last.operands for last in sides if last is not None), strict=True))
        case _:
            return []


def _describe(of: dict[SSAValue, Space], op: Operation) -> None:
    match op:
        case tile.LoadOp():
            of[op.result].accesses.append((op, op.result))
        case tile.LoadWindowOp():
            of[op.outputs[0]].accesses.append((op, op.outputs[0]))
        case tile.StoreOp() if isinstance(op.tile.type, TensorType):
            of[op.tile].accesses.append((op, op.tile))
        case tile.ScanOp():
            of[op.outputs[0]].scans.add(op.axis_value)
        case tile.DotOp():
            of[op.result].dots.append(op)
            if op.lhs in of:
                of[op.lhs].factors.append(op)
        case _:
            pass
