"""The ops of an epilogue in the program whose result they are of: before each of its stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.dialects import nd, tile
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.shape import AccessOp
from irc.ir.rewriting import Inserter, location_of
from irc.tiling.epilogues import Epilogue, computed_by

Places: TypeAlias = tuple[AffineExpr, ...]
"""Where an element of a tile is in an array, along each of its axes."""


def takes_epilogue(program: tile.ProgramOp, result: int) -> bool:
    """Whether a result is stored alone, each element at its place."""
    view = program.outputs[result]
    users = (use.operation for use in view.uses)
    return all(isinstance(op, tile.StoreOp) and op.view is view and op.add is None for op in users)


def add_epilogue(program: tile.ProgramOp, result: int, epilogue: Epilogue, views: Mapping[SSAValue, SSAValue]) -> None:
    """Does the work of an epilogue before each store of a result. The values that are needed are further results of the
    program, behind those that it has. views: the arguments of the program that are the arrays which it reads."""
    view, block = program.outputs[result], program.body.block
    stored: dict[SSAValue, SSAValue] = {}
    for value in epilogue.needed:
        type = tile.ViewType.of(shape_of(value), element_of(value).type)
        stored[value] = block.insert_arg(type, len(block.args))
        stored[value].name_hint = value.name_hint
    program.results_count = IntegerAttr(program.result_count + len(stored), i64)
    for store in [use.operation for use in view.uses]:
        assert isinstance(store, tile.StoreOp)
        _Epilogue(epilogue, store, views).add(stored)


class _Epilogue:
    """The work before one store."""

    def __init__(self, epilogue: Epilogue, store: tile.StoreOp, views: Mapping[SSAValue, SSAValue]):
        self._epilogue, self._store, self._views = epilogue, store, views
        self._shape = tile.shape_of(store.tile.type)
        self._known: dict[SSAValue, SSAValue] = {epilogue.result: store.tile}
        self._loads: dict[tuple[SSAValue, Places], SSAValue] = {}
        self._ragged = {d for axis in store.checked_dims for d in store.access_map.results[axis].used_dims()}
        """The dimensions of the tile along which it may go beyond the end of the array."""

    def add(self, stored: Mapping[SSAValue, SSAValue]) -> None:
        for op in self._epilogue.ops:
            self._known[op.results[0]] = self._copied(op, self._store.access_map.results)
        for value, view in stored.items():
            self._at(self._store)(self._store.clone({self._store.tile: self._known[value], self._store.view: view}))

    def _at(self, op: Operation) -> Inserter:
        return Inserter(Inserter.before(self._store).builder, location_of(op))

    def _copied(self, op: Operation, places: Places) -> SSAValue:
        """The op on tiles, whose elements are at these places of arrays of its operands' shape."""
        operands = [self._tile(operand, places) for operand in op.operands]
        types = [nd.tensor(self._shape, element_of(result)) for result in op.results]
        properties, attributes = dict(op.properties), dict(op.attributes)
        made = type(op).create(operands=operands, result_types=types, properties=properties, attributes=attributes)
        return self._at(op).value(made)

    def _tile(self, value: SSAValue, places: Places) -> SSAValue:
        """The tile of a value at these places of it."""
        if value in self._known:
            return self._known[value]
        match op := computed_by(value):
            case None:
                if (value, places) not in self._loads:
                    self._loads[value, places] = self._load(value, places)
                return self._loads[value, places]
            case nd.ConstantOp():
                assert op.splat_value is not None
                splat = nd.ConstantOp.splat(op.splat_value, nd.tensor(self._shape, element_of(value)))
                return self._at(op).value(splat)
            case AccessOp():
                return self._tile(op.operands[0], tuple(op.coordinates(places)))
            case _:
                return self._copied(op, places)

    def _load(self, value: SSAValue, places: Places) -> SSAValue:
        """The elements of an array at places, which are expressions of the dimensions and symbols of the store."""
        store = self._store
        at, map = self._at(store), store.access_map
        dims = sorted({dim for place in places for dim in place.used_dims()})
        numbers = {dim: AffineExpr.dimension(number) for number, dim in enumerate(dims)}
        moved = [numbers.get(dim, AffineExpr.constant(0)) for dim in range(map.num_dims)]
        symbols: list[AffineExpr] = [AffineExpr.symbol(number) for number in range(map.num_symbols)]
        load = tile.LoadOp.of(
            self._views[value],
            [store.offsets[dim] for dim in dims],
            nd.tensor([self._shape[dim] for dim in dims], element_of(value)),
            symbols=store.symbols,
            map=AffineMap(
                len(dims), map.num_symbols, tuple(p.replace_dims_and_symbols(moved, symbols) for p in places)
            ),
            checked=[axis for axis, place in enumerate(places) if place.used_dims() & self._ragged],
        )
        loaded = at.value(load)
        return loaded if len(dims) == len(self._shape) else at.value(nd.BroadcastOp(loaded, self._shape, dims))
