"""Each rank's program: local shapes, and collectives where a rank needs what others have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects.nd import (
    AllGatherOp,
    AllReduceOp,
    ConstantOp,
    IotaOp,
    PermuteOp,
    ReduceScatterOp,
    ReshapeOp,
    ScatterAddOp,
    SliceOp,
    TakeOp,
)
from irc.dialects.nd.base import element_of, integer, ints, put, shape_of, tensor
from irc.dialects.nd.terms import Term, splat
from irc.ir.discardable import ARGUMENT_NAME
from irc.ir.dtypes import element_named
from irc.ir.mesh import SHARDING, SHARDINGS, shardings_of
from irc.ir.rewriting import Inserter, location_of
from irc.sharding.propagation import Shardings
from irc.sharding.rules import Axes, Division
from irc.support.mesh import Sharding

COORDINATES = "mesh_coordinates"
"""The name of the last argument of a rank's program, the rank's coordinates in the mesh: i64, one for each axis."""


class Partition:
    """Writes the program of each rank of a function whose values are divided as `shardings` says."""

    def __init__(self, function: FuncOp, shardings: Shardings):
        self._function, self._shardings, self._mesh = function, shardings, shardings.mesh
        self._whole = list(function.body.block.args)
        types = [self._local_type(value, shardings[value]) for value in self._whole]
        coordinates = tensor([len(self._mesh.names)], i64)
        self._block = Block(arg_types=[*types, coordinates])
        self._at = Inserter.at_end(self._block, location_of(function))
        self._of: dict[SSAValue, tuple[SSAValue, Sharding]] = {}
        self._resharded: dict[tuple[SSAValue, Sharding], SSAValue] = {}
        self._numbers: dict[Axes, SSAValue] = {}
        for value, argument in zip(self._whole, self._block.args, strict=False):
            argument.name_hint = value.name_hint
            self._of[value] = argument, shardings[value]
        self._block.args[-1].name_hint = COORDINATES

    def rewrite(self) -> None:
        """Replaces the function's body."""
        *ops, terminator = self._function.body.block.ops
        values = terminator.operands
        said = shardings_of(terminator, len(values))
        returned = [self._shardings[v] if each is None else each for v, each in zip(values, said, strict=True)]
        for op in ops:
            self._add(op)
        self._at = Inserter.at_end(self._block, location_of(terminator))
        results = [self._as(v, sharding) for v, sharding in zip(terminator.operands, returned, strict=True)]
        self._at(ReturnOp(*results))
        self._put(results)

    def _put(self, results: Sequence[SSAValue]) -> None:
        function = self._function
        known = [{}] * len(self._whole) if function.arg_attrs is None else [each.data for each in function.arg_attrs]
        kept = [{name: value for name, value in entry.items() if name != SHARDING} for entry in known]
        last = {ARGUMENT_NAME: StringAttr(COORDINATES)}
        function.arg_attrs = ArrayAttr(DictionaryAttr(entry) for entry in (*kept, last))
        function.body.detach_block(function.body.block).erase()
        function.body.add_block(self._block)
        types = [value.type for value in self._block.args], [value.type for value in results]
        function.function_type = FunctionType.from_lists(*types)

    def _local_type(self, value: SSAValue, sharding: Sharding) -> Any:
        return tensor(self._mesh.local(shape_of(value), sharding), element_of(value))

    def _add(self, op: Operation) -> None:
        """The op on this rank's parts, and what joins the parts of its sums."""
        self._at = Inserter.at_end(self._block, location_of(op))
        division = self._shardings.division(op)
        rule = division.rule
        operands = [
            self._as(value, division.sharding(dims)) for value, dims in zip(op.operands, rule.operands, strict=True)
        ]
        made = [division.sharding(dims) for dims in rule.results]
        given = operands[0] if isinstance(op, ScatterAddOp) and division.partial else None
        if given is not None:
            operands[0] = splat(self._at, 0, shape_of(given), element_of(given)).value
        local = self._localized(op, operands, made, division)
        for value, result, sharding in zip(op.results, local.results, made, strict=True):
            self._of[value] = self._joined(value, self._moved(op, result, sharding), sharding, division)
        if given is not None:
            self._add_once(op.results[0], given, made[0])

    def _add_once(self, value: SSAValue, given: SSAValue, sharding: Sharding) -> None:
        """Adds what updates were to be added to, which each rank's sum begins without, to the sum of all."""
        if isinstance(given.owner, ConstantOp) and given.owner.splat_value == 0:
            return
        part, have = self._of[value]
        if have != sharding:
            given = self._resharded_value(given, sharding, have)
        self._of[value] = (Term(part, self._at) + Term(given, self._at)).value, have

    def _localized(
        self, op: Operation, operands: Sequence[SSAValue], made: Sequence[Sharding], division: Division
    ) -> Operation:
        """A copy of the op with local types."""
        types = [self._local_type(value, sharding) for value, sharding in zip(op.results, made, strict=True)]
        if isinstance(op, ConstantOp) and op.splat_value is not None:
            return self._at(ConstantOp.splat(op.splat_value, types[0]))
        properties = dict(op.properties)
        if isinstance(op, SliceOp):
            divided = [bool(axes) for axes in division.sharding(division.rule.operands[0])]
            extents = shape_of(types[0])
            stops = [n if cut else stop for n, cut, stop in zip(extents, divided, ints(op.stops), strict=True)]
            properties["stops"] = DenseArrayBase.from_list(i64, stops)
        attributes = {name: value for name, value in op.attributes.items() if name != SHARDINGS}
        regions = [region.clone() for region in op.regions]
        copy = type(op).create(
            operands=operands, result_types=types, properties=properties, attributes=attributes, regions=regions
        )
        return self._at(copy)

    def _moved(self, op: Operation, result: SSAValue, sharding: Sharding) -> SSAValue:
        """Of an iota that is divided along its axis: from where this rank's part begins."""
        if not isinstance(op, IotaOp) or not (axes := sharding[integer(op.axis)]):
            return result
        element = element_of(result)
        extent = shape_of(result)[integer(op.axis)]
        start = Term(self._number(axes), self._at).cast(element_named("i64")) * extent
        return (Term(result, self._at) + start.cast(element).broadcast(shape_of(result), [])).value

    def _joined(
        self, value: SSAValue, part: SSAValue, sharding: Sharding, division: Division
    ) -> tuple[SSAValue, Sharding]:
        """The whole sums of which each rank has a part: scattered where that is how the value is divided."""
        for monoid, all_axes in division.partial:
            axes = tuple(axis for axis in all_axes if self._mesh.count([axis]) > 1)
            part, sharding, left = self._scattered(part, monoid, axes, sharding, self._shardings[value])
            if left:
                part = self._at(AllReduceOp([part], monoid, left)).results[0]
        return part, sharding

    def _scattered(
        self, part: SSAValue, monoid: str, axes: Axes, have: Sharding, want: Sharding
    ) -> tuple[SSAValue, Sharding, Axes]:
        """Along the axes that divide the value further than its part is; with those that are left."""
        for axis, (known, wanted) in enumerate(zip(have, want, strict=True)):
            more = wanted[len(known) :]
            if wanted[: len(known)] == known and more and all(each in axes for each in more):
                size = self._mesh.count(more)
                first = self._to_front(part, axis, size)
                scattered = self._at(ReduceScatterOp(first, monoid, more, size)).result
                shape = shape_of(part)
                part = self._reshaped(scattered, put(shape, axis, shape[axis] // size))
                sharding = (*have[:axis], wanted, *have[axis + 1 :])
                return part, sharding, tuple(each for each in axes if each not in more)
        return part, have, axes

    def _as(self, value: SSAValue, want: Sharding) -> SSAValue:
        """The value divided so."""
        local, have = self._of[value]
        if have == want:
            return local
        key = (value, want)
        if key not in self._resharded:
            self._resharded[key] = self._resharded_value(local, have, want)
        return self._resharded[key]

    def _resharded_value(self, local: SSAValue, have: Sharding, want: Sharding) -> SSAValue:
        """Divided further along axes that divide nothing yet, gathered along those that it is not divided along, and
        divided along the rest."""
        now = list(have)
        for _ in range(2):
            for axis, wanted in enumerate(want):
                more = wanted[len(now[axis]) :]
                used = [each for axes in now for each in axes]
                if more and wanted[: len(now[axis])] == now[axis] and not any(each in used for each in more):
                    local, now[axis] = self._divided(local, axis, more), wanted
            for axis, wanted in enumerate(want):
                kept = _common(now[axis], wanted)
                if more := now[axis][len(kept) :]:
                    local, now[axis] = self._gathered(local, axis, more), kept
        assert tuple(now) == want
        return local

    def _gathered(self, local: SSAValue, axis: int, over: Axes) -> SSAValue:
        """The parts of the ranks along some axes of the mesh, one behind the other along an axis."""
        shape, size = shape_of(local), self._mesh.count(over)
        if size == 1:
            return local
        if axis == 0:
            return self._at(AllGatherOp(local, over, size)).result
        first = self._reshaped(local, [1, *shape])
        gathered = self._at(AllGatherOp(first, over, size)).result
        order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
        moved = self._at(PermuteOp(gathered, order)).result
        return self._reshaped(moved, put(shape, axis, shape[axis] * size))

    def _divided(self, local: SSAValue, axis: int, over: Axes) -> SSAValue:
        """This rank's part along an axis."""
        shape, size = shape_of(local), self._mesh.count(over)
        if size == 1:
            return local
        part = shape[axis] // size
        parts = self._reshaped(local, [*shape[:axis], size, part, *shape[axis + 1 :]])
        return self._at(TakeOp(parts, self._number(over), axis)).result

    def _to_front(self, local: SSAValue, axis: int, size: int) -> SSAValue:
        """With an axis cut into `size` parts, whose number becomes the first axis."""
        shape = shape_of(local)
        if axis == 0:
            return local
        cut = self._reshaped(local, [*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]])
        order = [axis, *(i for i in range(len(shape) + 1) if i != axis)]
        return self._at(PermuteOp(cut, order)).result

    def _reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if shape_of(value) == tuple(shape) else self._at(ReshapeOp(value, shape)).result

    def _number(self, axes: Axes) -> SSAValue:
        """This rank's number along some axes of the mesh, i64 of rank 0."""
        if axes not in self._numbers:
            total: Term | None = None
            for name in axes:
                place = self._mesh.names.index(name)
                one = self._at(SliceOp(self._block.args[-1], [place], [place + 1])).result
                coordinate = Term(self._reshaped(one, ()), self._at)
                total = coordinate if total is None else total * self._mesh.count([name]) + coordinate
            assert total is not None
            self._numbers[axes] = total.value
        return self._numbers[axes]


def _common(one: Axes, other: Axes) -> Axes:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]
