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
        shape = shape_of(value.type)
        return self.fragment.project(d for d, n in enumerate(shape) if n == 1 and self.fragment.shape[d] != 1)


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

    def join(self, *values: SSAValue) -> None:
        tiles = [v for v in values if isinstance(v.type, TensorType)]
        for value in tiles:
            self.parent[self.find(value)] = self.find(tiles[0])


def collect(program: tile.ProgramOp) -> dict[SSAValue, Space]:
    """Every tile value of a program with its space, in program order."""
    union = _Union()
    for op in program.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if isinstance(value.type, TensorType):
                union.find(value)
        _join(union, op)
    joined: dict[SSAValue, list[SSAValue]] = {}
    for value in list(union.parent):
        joined.setdefault(union.find(value), []).append(value)
    of = {value: space for values in joined.values() for space in _cut(values) for value in space.values}
    of = {value: of[value] for value in union.parent}
    for op in program.walk():
        _describe(of, op)
    return of


def _cut(values: Sequence[SSAValue]) -> list[Space]:
    """The spaces of joined tiles: one, unless they have unequal extents. Then one for each of the largest shapes; a
    tile of a smaller one, a vector, is in the first that it fits."""
    shapes = list(dict.fromkeys(shape_of(value.type) for value in values))
    if all(len({extent for extent in extents if extent != 1}) <= 1 for extents in zip(*shapes, strict=True)):
        return [_alone(values)]
    spaces = {s: Space([]) for s in shapes if not any(_fits(s, other) for other in shapes if other != s)}
    for value in values:
        shape = shape_of(value.type)
        next(space for largest, space in spaces.items() if _fits(shape, largest)).values.append(value)
    for space in spaces.values():
        space.neighbors = tuple(spaces.values())
    return list(spaces.values())


def _alone(values: Sequence[SSAValue]) -> Space:
    space = Space(list(values))
    space.neighbors = (space,)
    return space


def _fits(shape: Sequence[int], larger: Sequence[int]) -> bool:
    """Whether a tile can be broadcast to another."""
    return all(own in (1, extent) for own, extent in zip(shape, larger, strict=True))


def _join(union: _Union, op: Operation) -> None:
    match op:
        case tile.MapOp():
            union.join(op.result, *op.inputs)
        case tile.CombinerOp():
            union.join(*op.inputs, *op.outputs)
        case tile.DotOp():
            union.join(op.acc, op.result)
        case tile.DotWaitOp():
            union.join(op.acc, op.result)
        case tile.LoadOp():
            union.join(op.result, *op.symbols)
        case tile.StoreOp():
            union.join(op.tile, *op.symbols)
        case scf.ForOp():
            block = op.body.block
            last = block.last_op
            assert last is not None
            for initial, argument, result, after in zip(
                op.iter_args, block.args[1:], op.results, last.operands, strict=True
            ):
                union.join(initial, argument, result, after)
        case _:
            pass


def _describe(of: dict[SSAValue, Space], op: Operation) -> None:
    match op:
        case tile.LoadOp():
            of[op.result].accesses.append((op, op.result))
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
