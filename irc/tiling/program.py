"""What the stages of a tile program share: its operands, its nodes, and what they depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from irc.dialects import tile
from irc.dialects.nd.table import ROWS, Cost
from irc.tiling.domains import Domains
from irc.tiling.groups import Result
from irc.tiling.index_maps import DomainDim, Lin, atoms
from irc.tiling.nodes import Apply, Dot, Node, Reduced, walk_nodes
from irc.tiling.trace import RegionTrace

INDEX = IndexType()
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """A tile axis: `extent` elements of `dim` from `offset` on. Without a dim, an axis of
    extent 1 that stands for nothing. end: where the elements end that are the tile's own, if it may begin anywhere:
    those behind are another tile's, and are not stored. is_loaded: whether what is loaded there is theirs, not
    0. is_aligned: whether the offset is known to be a multiple of the extent."""

    dim: DomainDim | None
    offset: SSAValue
    extent: int
    end: SSAValue | None = None
    is_loaded: bool = True
    is_aligned: bool = False


@dataclass
class ProgramTiling:
    """What all stages of a program share."""

    op: tile.ProgramOp
    trace: RegionTrace
    domains: Domains
    reductions: list[Reduced] = field(default_factory=list[Reduced])
    """The reductions of the results that are being computed."""
    chunks: dict[DomainDim, int] = field(default_factory=dict[DomainDim, int])
    """The tile extent of each dimension that is reduced or scanned over."""
    unstored: dict[DomainDim | None, list[Result]] = field(default_factory=dict[DomainDim | None, list[Result]])
    """The results that are being computed, by the dimension that is reduced over which they lie along, until something
    stores them."""
    unroll: int = 1
    """Steps over a reduced dimension whose loads are in flight together."""
    shared: frozenset[Node] = frozenset()
    """Nodes that are computed once, as a tile, for all that use them."""
    _dims: dict[Node, frozenset[DomainDim]] = field(default_factory=dict[Node, frozenset[DomainDim]])
    _heavy: dict[Node, bool] = field(default_factory=dict[Node, bool])

    def riders(self, column: DomainDim) -> list[Result]:
        """Results along a dimension that no reduction feeds: a walk over it can store them."""
        return [
            r for r in self.unstored.get(column, []) if not any(isinstance(n, Reduced) for n in walk_nodes([r.node]))
        ]

    def take_riders(self, column: DomainDim) -> list[Result]:
        """The same, for the walk that stores them."""
        riders = self.riders(column)
        self.unstored[column] = [each for each in self.unstored.get(column, []) if each not in riders]
        return riders

    def argument(self, index: int) -> SSAValue:
        return self.op.body.block.args[index]

    def result_argument(self, result: int) -> int:
        """The number of the argument that is this result."""
        return len(self.op.body.block.args) - self.op.result_count + result

    def over_tiles(self, extents: Sequence[int], steps: Sequence[int], **options: Any) -> tile.ForTilesOp:
        """The loop over the tiles of a domain, at the end of the program."""
        loop = tile.ForTilesOp(extents, steps, **options)
        loop.location = self.op.location
        self.op.body.block.add_op(loop)
        return loop

    def resolve(self, lin: Lin) -> Lin:
        return self.domains.bindings.resolve(lin)

    def lin_dims(self, lins: Iterable[Lin]) -> frozenset[DomainDim]:
        """Dimensions that the expressions depend on, also through gathers."""
        found: set[DomainDim] = set()
        for lin in lins:
            for atom in atoms(self.resolve(lin)):
                found |= {atom} if isinstance(atom, DomainDim) else self.dims(self.trace.gathers[atom])
        return frozenset(found)

    def dims(self, node: Node) -> frozenset[DomainDim]:
        """The dimensions that the node's value depends on."""
        for n in walk_nodes([node], inside=lambda n: n not in self._dims and not isinstance(n, Reduced | Dot)):
            if n in self._dims:
                continue
            found = self.lin_dims(n.coords())
            if not isinstance(n, Reduced | Dot):
                found = found.union(*(self._dims[o] for o in n.operands()))
            self._dims[n] = found
        return self._dims[node]

    def is_heavy(self, node: Node) -> bool:
        """Whether the node is worth computing apart: it uses the result of a reduction."""
        for n in walk_nodes([node], inside=lambda n: n not in self._heavy and not isinstance(n, Reduced | Dot)):
            if n not in self._heavy:
                self._heavy[n] = isinstance(n, Reduced | Dot) or any(self._heavy[o] for o in n.operands())
        return self._heavy[node]


def shared_nodes(roots: Sequence[Node]) -> frozenset[Node]:
    """The costly nodes that several of the roots use: each root is a loop of its own,
    which would compute them again."""
    uses: Counter[Node] = Counter()
    for root in dict.fromkeys(roots):
        below = walk_nodes([root], inside=lambda n: not isinstance(n, Reduced | Dot))
        uses.update(n for n in below if isinstance(n, Apply) and _is_long(n.op))
    return frozenset(n for n, count in uses.items() if count > 1)


def _is_long(op: Operation) -> bool:
    row = ROWS.get(type(op))
    return row is not None and row.cost is Cost.LONG
