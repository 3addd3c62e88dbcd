"""Parts of arrays that cascades read in place: queries, keys and values that one product has made side by side, or that
lie with their heads beside the elements of a head.

A kernel that loads a box at a time loads it from anywhere in an array. Where the last tile goes beyond the end of a
part there is more of the array, not 0: of what tiles have some of, all has to be taken. Parts of what is stored rounded
are parts of the rounded array: the cast goes before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.cascades import Cascade
from irc.analysis.op_classes import is_view, shape_of, size_of
from irc.analysis.pages import pages_of, tiled_axes
from irc.analysis.strided_views import StridedView, strided_view
from irc.dialects import nd
from irc.dialects.nd.declared import declared_element
from irc.fusion.cascades import cascades_in
from irc.ir.blocks import block_of
from irc.ir.dtypes import Element, element_of
from irc.ir.iteration import part_of, permutation_of
from irc.ir.rewriting import Inserter, remove_dead_code


def copy_parts(block: Block) -> set[Operation]:
    """Gives the cascades that one kernel computes their own ops which take what they multiply from arrays, and gives
    these ops, which the cascades' kernels repeat."""
    copies: dict[SSAValue, SSAValue] = {}
    roundings = _Roundings()
    made: set[Operation] = set()
    loaded = [each for cascade in cascades_in(block) if cascade.is_rolled for each in _loaded(cascade)]
    for product, operand, _ in loaded:
        product.operands[operand] = roundings.first(product.operands[operand])
    for product, operand, role in loaded:
        value = product.operands[operand]
        tiled = tiled_axes(product, operand, role)
        if value not in copies and pages_of(value, tiled) is None and _is_read_in_place(strided_view(value), tiled):
            ops = _copied(strided_view(value))
            copies[value] = ops[-1].results[0]
            made |= {op for op in ops if not is_view(op)}
        product.operands[operand] = copies.get(value, value)
    if (made or roundings.arrays) and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def _loaded(cascade: Cascade) -> Iterator[tuple[Operation, int, str]]:
    """The products and their operands that come from memory, and the role of the axes along which a tile has some."""
    yield from ((op, operand, "mn"[operand]) for op in cascade.scores for operand in (0, 1))
    yield from ((op, 1, "k") for op in cascade.products)


def _is_read_in_place(view: StridedView, tiled: tuple[int, ...]) -> bool:
    """Whether it is taken from an array of which others read the rest, and is not cut along axes of which tiles have
    some."""
    if not view.is_moved or not view.is_loadable or not view.is_one_axis(tiled) or any(map(view.ends_inside, tiled)):
        return False
    cast = view.array.owner
    arrays = [view.array, cast.x] if isinstance(cast, nd.CastOp) and declared_element(cast.x) else [view.array]
    users = [use.operation for array in arrays for use in array.uses if use.operation is not cast]
    return sum(size_of(op.results[0]) for op in users if op.results) >= size_of(view.array)


@dataclass
class _Roundings:
    """Roundings that go before the parts of the arrays that they round. before: what a value has become. arrays: the
    rounded arrays."""

    before: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    arrays: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def first(self, value: SSAValue) -> SSAValue:
        """The same of rounded arrays where it is made of rounded parts of them, each to the type in which the array is
        stored; the value itself where it is something else."""
        if value not in self.before:
            self.before[value] = self._rebuilt(value)
        return self.before[value]

    def _rebuilt(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if isinstance(op, Operation) and (is_view(op) or permutation_of(op) is not None):
            source = self.first(op.operands[0])
            return value if source is op.operands[0] else _again(op, source, before=op)
        if not isinstance(op, nd.CastOp):
            return value
        view, element = strided_view(op.x), element_of(value.type)
        array = view.array
        if all(part_of(each) is None for each in view.ops) or declared_element(array) != element.type:
            return value
        if array not in self.arrays:
            self.arrays[array] = _rounded(array, element)
        source = self.arrays[array]
        for each in view.ops:
            source = _again(each, source, before=op)
        return source


def _rounded(array: SSAValue, element: Element) -> SSAValue:
    """The array in an element type, right behind it: by a cast that there is, if one is."""
    owner = array.owner
    assert isinstance(owner, Operation)  # arguments are in the types in which they are declared
    casts = [op for op in (use.operation for use in array.uses) if isinstance(op, nd.CastOp)]
    for cast in casts:
        if element_of(cast.result.type) is element:
            cast.detach()
            return Inserter.after(owner).value(cast)
    return Inserter.after(owner).value(nd.CastOp(array, element))


def _again(op: Operation, operand: SSAValue, before: Operation) -> SSAValue:
    """What an op that moves elements makes of another array, computed before another op."""
    moved = type(op).create(
        operands=[operand],
        result_types=[nd.tensor(shape_of(op.results[0]), element_of(operand.type))],
        properties=dict(op.properties),
        location=op.location,
    )
    return Inserter.before(before).value(moved)


def _copied(view: StridedView) -> list[Operation]:
    value = view.array
    copies: list[Operation] = []
    for op in view.ops:
        block = block_of(op)
        copies.append(op.clone({op.operands[0]: value}))
        block.insert_op_after(copies[-1], op)
        value = copies[-1].results[0]
    return copies
