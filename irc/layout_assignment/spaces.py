"""Spaces: the tiles that one elementwise computation touches. All of them share one fragment, so that no element has
to move.

A map joins its operands and its result, a reduction its operands and results (a result of extent 1 is the fragment
projected), a loop what it carries, an access the tiles that gather. A slice, a permutation and a conversion lead from
one space to another.
"""

from __future__ import annotations

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
    hold runs of neighbors; `dots` accumulate into it, `factors` have it as their left operand."""

    values: list[SSAValue]
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
    spaces: dict[SSAValue, Space] = {}
    of: dict[SSAValue, Space] = {}
    for value in list(union.parent):
        space = spaces.setdefault(union.find(value), Space([]))
        space.values.append(value)
        of[value] = space
    for op in program.walk():
        _describe(of, op)
    return of


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
