"""Which axes of a tile go beyond the end of an array in the last tile of a loop, and what is done about it.

Loads give 0 there. What is computed of that is anything; so elements beyond the end are replaced where others would see
them: by the neutral element of a reduction, and by 0 in an operand of a product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Operation

from irc.analysis.op_classes import is_elementwise
from irc.dialects import nd
from irc.dialects.nd.base import ints
from irc.dialects.nd.reduce import ReduceOp, ScanOp
from irc.ir.dtypes import element_named
from irc.ir.neutral import neutral
from irc.tiling.placements import result_axes
from irc_frontend import elementwise
from irc_frontend.graph import Node, fail_at
from irc_frontend.kernels.access import TileAccess
from irc_frontend.kernels.indices import LoopTile
from irc_frontend.structure import reshape
from irc_frontend.tensor import Tensor

Axes: TypeAlias = tuple[LoopTile | None, ...]
"""The loop's tile that each axis is; None where it is none."""

MONOIDS = ("sum", "prod", "max", "min", "any", "all")
"""Reductions that pass over elements beyond the end."""


class Ragged:
    """What is known of the nodes of one trace."""

    def __init__(self, positions: Callable[[LoopTile], Tensor]):
        self._positions = positions
        self._axes: dict[Node, Axes] = {}
        self._outside: dict[Node, float] = {}
        self._loads: dict[Node, TileAccess] = {}
        self._masked: dict[tuple[Node, tuple[int, ...], float], Node] = {}

    def axes_of(self, node: Node) -> Axes:
        return self._axes.get(node, (None,) * node.rank)

    def load_of(self, node: Node) -> TileAccess | None:
        """The access of a node that is loaded and no more."""
        while node.op in ("permute", "reshape"):
            node = next(iter(node.operands))
        return self._loads.get(node)

    def note(self, node: Node, axes: Axes) -> None:
        self._axes[node] = axes

    def note_load(self, node: Node, access: TileAccess) -> None:
        if access.gathers:
            return
        self._loads[node] = access
        self._outside[node] = 0

    def note_op(self, node: Node, op: Operation, operands: list[Node]) -> None:
        """What an op makes of what is known of its operands. IrcError where it mixes elements within the array with
        others."""
        self._axes[node] = self._after(node, op, operands)
        if node.op in ("cast", "permute", "reshape") and operands[0] in self._outside:
            self._outside[node] = self._outside[operands[0]]

    def _after(self, node: Node, op: Operation, operands: list[Node]) -> Axes:
        given = [self.axes_of(each) for each in operands]
        match op:
            case nd.MatmulOp() if node.rank == 2 and all(each.rank == 2 for each in operands):
                (k,), (j,) = ints(op.lhs_contract), ints(op.rhs_contract)
                _met(node, (given[0][k], given[1][j]))
                return given[0][1 - k], given[1][1 - j]
            case nd.BroadcastOp() | nd.PermuteOp() | nd.ReshapeOp() | ReduceOp():
                axes = result_axes(op) if not isinstance(op, ReduceOp) else _kept(op, operands[0].rank)
                return _placed(given[0], axes, node)
            case ScanOp():
                return given[0]
            case _ if is_elementwise(op) or isinstance(op, nd.ComposedOp):
                found = zip(*(each for each in given if len(each) == node.rank), strict=True)
                joined = tuple(_met(node, dims) for dims in found)
                if isinstance(op, nd.ComposedOp) and not is_elementwise(op):
                    self._refuse(node, joined)
                return joined or (None,) * node.rank
            case _:
                if any(dim is not None and dim.is_ragged for axes in given for dim in axes):
                    raise fail_at(
                        node, f"{node.op} takes tiles that are whole", "choose a size that divides the extent"
                    )
                return (None,) * node.rank

    @staticmethod
    def _refuse(node: Node, axes: Axes) -> None:
        at = dict(node.attributes).get("axis")
        if isinstance(at, int) and (dim := axes[at]) is not None and dim.is_ragged:
            raise fail_at(
                node,
                f"{node.op} is along the tiles {dim.name}, the last of which goes beyond the end",
                "load the whole axis, `x[m, :]`, or reduce by max and sum",
            )

    def joined(self, node: Node, op: Operation) -> tuple[int, ...]:
        """The axes that an op reduces."""
        return ints(op.axes) if isinstance(op, ReduceOp) else ()

    def masked(self, node: Node, number: int, operand: Node) -> Node:
        """What takes the place of an operand of `node`."""
        attributes = dict(node.attributes)
        if node.op == "matmul":
            return self._replaced(operand, self._contracted(attributes, number), 0, operand)
        joined = attributes.get("axes")
        if not isinstance(joined, tuple) or node.op == "flip":
            return operand
        ragged = [axis for axis in joined if isinstance(axis, int) and self._is_ragged(operand, axis)]
        if not ragged:
            return operand
        if node.op not in MONOIDS:
            raise fail_at(
                node,
                f"{node.op} is over tiles the last of which goes beyond the end",
                "sum them, and divide by the extent of the array behind the loop",
            )
        return self._replaced(operand, tuple(ragged), neutral(node.op, element_named(operand.element)), node)

    @staticmethod
    def _contracted(attributes: Mapping[str, object], number: int) -> tuple[int, ...]:
        found = attributes["lhs_contract" if number == 0 else "rhs_contract"]
        assert isinstance(found, tuple)
        return found

    def _is_ragged(self, node: Node, axis: int) -> bool:
        dim = self.axes_of(node)[axis]
        return dim is not None and dim.is_ragged

    def _replaced(self, operand: Node, axes: tuple[int, ...], value: float, at: Node) -> Node:
        axes = tuple(axis for axis in axes if self._is_ragged(operand, axis))
        if not axes or self._outside.get(operand) == value:
            return operand
        key = operand, axes, value
        if key not in self._masked:
            node = operand
            for axis in axes:
                dim = self.axes_of(operand)[axis]
                assert dim is not None
                shape = [dim.step if number == axis else 1 for number in range(operand.rank)]
                inside = elementwise.apply("less", reshape(self._positions(dim).node, shape), dim.extent)
                node = elementwise.where(inside, node, bool(value) if operand.is_bool else value)
            self._masked[key] = node
            self._outside[node] = value
        return self._masked[key]


def _met(node: Node, dims: Sequence[LoopTile | None]) -> LoopTile | None:
    """The tile of an axis along which operands have these."""
    known = [dim for dim in dims if dim is not None]
    other = next((dim for dim in known if dim is not known[0]), None)
    if other is not None:
        raise fail_at(
            node,
            f"tiles of {known[0].name} meet tiles of {other.name} along one axis",
            "None gives a new axis: `a[:, None] + b[None, :]`; a permute puts axes in another order",
        )
    return known[0] if known else None


def _kept(op: ReduceOp, rank: int) -> tuple[int | None, ...]:
    kept = [axis for axis in range(rank) if axis not in ints(op.axes)]
    return tuple(kept.index(axis) if axis in kept else None for axis in range(rank))


def _placed(given: Axes, axes: tuple[int | None, ...], node: Node) -> Axes:
    """The tiles of the result's axes, where `axes` says which of them each operand's is."""
    found: list[LoopTile | None] = [None] * node.rank
    for dim, to in zip(given, axes, strict=True):
        if to is not None:
            found[to] = dim
        elif dim is not None and dim.is_ragged and node.op == "reshape":
            raise fail_at(node, "a reshape moves elements of the last tile, which goes beyond the end")
    return tuple(found)
