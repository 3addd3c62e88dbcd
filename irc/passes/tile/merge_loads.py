"""merge-loads: loads of neighboring elements become one, of a window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import block_of
from irc.layout.affine import linear_form

MAX_WINDOW = 4
"""Elements of a window for each one that is read: more are loaded and held for nothing. Windows with a dilation of 2 in
two dimensions have less."""

_Tap: TypeAlias = tuple[tile.LoadOp, tuple[int, ...]]
"""A load, and the constants of its coordinates."""


@dataclass(frozen=True)
class MergeLoadsPass(ProgramPass):
    """Loads of tiles of one array at coordinates that differ by constants, in a program of elementwise work, as a pool
    or a stencil has them -> one load of the window that they are together (tile.load_window).

    Each thread loads what its windows read once, in vectors, and holds it once. Loads at coordinates that take
    divisions or are gathered, those that are far apart, and those of programs with reductions, scans or products, are
    left alone.
    """

    name: ClassVar[str] = "merge-loads"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, tile.ForTilesOp | scf.ForOp)]:
            if all(isinstance(each, _PLAIN) or each.dialect_name() == "arith" for each in loop.body.block.ops):
                _merge(loop.body.block)


_PLAIN = (tile.LoadOp, tile.StoreOp, tile.MapOp, tile.SplatOp, tile.IotaOp, tile.YieldOp, scf.YieldOp)


@dataclass(frozen=True)
class _Key:
    """What loads have in common that are one: all but the constants of their maps."""

    view: SSAValue
    offsets: tuple[SSAValue, ...]
    symbols: tuple[SSAValue, ...]
    shape: tuple[int, ...]
    other: SSAValue | None
    factors: tuple[tuple[int, ...], ...]


def _merge(block: Block) -> None:
    groups: dict[_Key, list[_Tap]] = {}
    for op in block.ops:
        if not isinstance(op, tile.LoadOp) or op.gathers:
            continue
        forms = [linear_form(expr, len(op.offsets), len(op.symbols)) for expr in op.access_map.results]
        known = [form for form in forms if form is not None]
        if len(known) == len(forms):
            # What is outside is told by the load's own checks; one without has nothing outside.
            shape, factors = tile.shape_of(op.result.type), tuple(form.factors for form in known)
            key = _Key(op.view, tuple(op.offsets), tuple(op.symbols), shape, None, factors)
            groups.setdefault(key, []).append((op, tuple(form.constant for form in known)))
    for key, loads in [(key, near) for key, taps in groups.items() for near in _near(taps)]:
        others = {load.other for load, _ in loads if load.checked_dims}
        is_known = all(other is None or isinstance(other.owner, arith.ConstantOp) for other in others)
        if len(loads) > 1 and len(others) < 2 and is_known:
            _replace(key, loads, next(iter(others), None))


def _near(loads: list[_Tap]) -> list[list[_Tap]]:
    """The loads in groups whose windows are not much larger than what is read of them: of `concat` of neighbors along
    an axis, those of each operand."""
    found: list[list[_Tap]] = []
    for load in loads:
        for group in found:
            places = [constants for _, constants in (*group, load)]
            window = prod(max(along) - min(along) + 1 for along in zip(*places, strict=True))
            if window <= MAX_WINDOW * len(places):
                group.append(load)
                break
        else:
            found.append([load])
    return found


def _replace(key: _Key, loads: list[_Tap], other: SSAValue | None) -> None:
    first = loads[0][0]
    merged = tile.LoadWindowOp.of(
        key.view,
        key.offsets,
        [load.result.type for load, _ in loads],
        map=AffineMap(len(key.offsets), len(key.symbols), tuple(_expr(row, len(key.offsets)) for row in key.factors)),
        taps=[constants for _, constants in loads],
        checked=sorted({dim for load, _ in loads for dim in load.checked_dims}),
        symbols=key.symbols,
        other=other,
        location=first.location,
    )
    if other is not None and isinstance(constant := other.owner, arith.ConstantOp):
        block = block_of(first)
        constant.detach()
        Rewriter.insert_op(constant, InsertPoint.at_start(block))
    Rewriter.insert_op(merged, InsertPoint.before(first))
    for (load, _), value in zip(loads, merged.outputs, strict=True):
        value.name_hint = load.result.name_hint
        Rewriter.replace_op(load, [], [value])


def _expr(factors: tuple[int, ...], dims: int) -> AffineExpr:
    """The sum of each dim and symbol times its factor."""
    terms: list[AffineExpr] = []
    for at, factor in enumerate(factors):
        atom = AffineDimExpr(at) if at < dims else AffineSymExpr(at - dims)
        terms += [] if not factor else [atom] if factor == 1 else [atom * factor]
    return reduce(lambda a, b: a + b, terms) if terms else AffineConstantExpr(0)
