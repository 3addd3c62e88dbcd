"""Loads of tiles from global memory to registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.analysis.accesses import access_of
from irc.analysis.configs import config_of
from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.ir.properties import scalar
from irc.layout.traffic import across_vector, global_vector
from irc.lowering.emitter import INDEX, Index
from irc.lowering.memory import FEWEST_UNCHECKED, Accesses, element_accesses, is_inside, locate, zero
from irc.lowering.values import Code, Registers, tile_element
from irc.support.diagnostics import IrcError


def lower_load_index(code: Code, op: tile.LoadIndexOp) -> None:
    at, hint = [code.scalar(each) for each in op.at], op.result.name_hint
    code.values[op.result] = read_index(code, op.view, at, op.most_value, hint, op.least_value)


def read_index(
    code: Code, view: SSAValue, at: Sequence[Index], most: int, hint: str | None = None, least: int = 0
) -> SSAValue:
    """An element of a view of integers as an index; clamped before it is cast: indices may have fewer bits."""
    assert isinstance(view.type, tile.ViewType)
    e, element = code.e, view.type.element_type
    array = e.value(cuda.RegistersOp(1, element))
    place: Index = 0
    for each, stride in zip(at, view.type.get_strides(), strict=True):
        place = e.add(place, e.mul(each, stride))
    e.insert(cuda.LoadOp(code.pointers[view], offset=e.index(place), array=array, index=e.index(0), cache="read_only"))
    low, high = (e.value(arith.ConstantOp(scalar(bound, element))) for bound in (least, most))
    loaded = e.value(cuda.GetOp(array, e.index(0)))
    clamped = e.value(arith.MinSIOp(e.value(arith.MaxSIOp(loaded, low)), high))
    return e.value(arith.IndexCastOp(clamped, INDEX), hint)


@dataclass(frozen=True)
class _Load:
    """The accesses of a load, and the condition under which they need no checks; None where they always do."""

    accesses: Accesses
    inside: SSAValue | None


def lower_load(code: Code, op: tile.LoadOp) -> None:
    """Lowers a load and those that follow it: tiles inside of all views are loaded without checks, in code without a
    branch, so that the data of all of them are on their way before the first are used."""
    if op.result in code.values:
        return
    together = list(_together(op))
    is_worth = sum(map(_checks, together)) >= FEWEST_UNCHECKED
    loads = [_prepared(code, each, is_worth=is_worth) for each in together]
    for load in loads:
        if load.inside is None:
            load.accesses(checked=True)
    inside = code.e.all([load.inside for load in loads if load.inside is not None])
    if inside is not None:
        code.e.branch(inside, partial(_all, loads, checked=False), partial(_all, loads, checked=True))


def _all(loads: list[_Load], *, checked: bool) -> None:
    for load in loads:
        if load.inside is not None:
            load.accesses(checked=checked)


def _together(op: tile.LoadOp) -> Iterator[tile.LoadOp]:
    """The load and those right behind it that go to registers, too."""
    each: Operation | None = op
    while isinstance(each, tile.LoadOp) and each.through is None:
        yield each
        each = each.next_op


def _checks(op: tile.LoadOp) -> int:
    """The accesses of a thread that may end outside of the view. One across words is of two words, each with checks."""
    fragment, access = fragment_layout(op.result.type), access_of(op)
    if op.across is not None:
        return 2 * fragment.value_count // across_vector(fragment, access)
    return fragment.value_count // global_vector(fragment, access) if op.checked_dims else 0


def _prepared(code: Code, op: tile.LoadOp, *, is_worth: bool) -> _Load:
    """Makes the registers of a load. is_worth: there are enough accesses for tiles inside the views to have code of
    their own."""
    result = code.array(fragment_layout(op.result.type), tile_element(op.result.type), op.result.name_hint)
    code.values[op.result] = result
    with code.e.at(op.location):
        make = _across if op.across is not None else _by_elements
        return make(code, op, result, is_worth=is_worth)


def _by_elements(code: Code, op: tile.LoadOp, result: Registers, *, is_worth: bool) -> _Load:
    pointer, cache = code.pointers[op.view], cache_of(op)
    other = code.ssa(op.other) if op.other is not None else None
    if op.checked_dims and other is None:
        other = zero(code, result.element)

    def load(register: SSAValue, offset: SSAValue, count: int) -> Operation:
        return cuda.LoadOp(pointer, result.array, register, offset, count=count, cache=cache)

    outside = None if other is None else partial(_fill, code, result, value=other)
    accesses = element_accesses(code, op, result, load, outside)
    return _Load(accesses, is_inside(code, op, result.fragment) if is_worth else None)


def _across(code: Code, op: tile.LoadOp, result: Registers, *, is_worth: bool) -> _Load:
    """Loads vectors that begin anywhere. Those that begin outside of the view are not loaded; the others may end in
    what follows their row."""
    e, pointer, cache = code.e, code.pointers[op.view], cache_of(op)
    fragment, access = result.fragment, access_of(op)
    vector = across_vector(fragment, access)
    if not isinstance(code.extent(access.size), int):
        raise IrcError("rows that begin anywhere cannot have run-time extents above them", op.location)

    def accesses(*, checked: bool) -> None:
        with code.each(fragment, vector) as components:
            offset, conditions = locate(code, op, fragment, components)
            exists = e.all(conditions) if checked else None
            if exists is not None:
                offset = e.select(exists, offset, -2 * vector)
            at, size = code.register(result, components), access.size if checked else None
            e.insert(
                cuda.LoadAcrossOp(
                    pointer, offset=e.index(offset), array=result.array, index=e.index(at), size=size, cache=cache
                )
            )

    return _Load(accesses, is_inside(code, op, fragment, beyond=2 * vector - 1) if is_worth else None)


def cache_of(op: tile.LoadOp | tile.LoadWindowOp) -> str | None:
    """How the cache keeps what a load brings."""
    program = op.view.owner.parent_op()
    assert isinstance(program, tile.ProgramOp)
    return ("evict_last" if config_of(program).evict_last else "read_only") if op.view in program.inputs else None


def _fill(code: Code, target: Registers, first: Index, count: int, value: SSAValue) -> None:
    """Sets so many registers to a scalar."""
    for n in range(count):
        code.e.insert(cuda.SetOp(target.array, code.e.index(code.e.add(first, n)), value))
