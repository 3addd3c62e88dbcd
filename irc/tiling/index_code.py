"""Integer expressions of dimensions and symbols as scalar code."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.tiling.index_maps import Div, DomainDim, Lin, Mod, Sym, bounds, offset, terms
from irc.tiling.program import INDEX
from irc.tiling.scalar_body import Body


class IndexCode:
    """Index scalars at the end of a body; `resolve` says what dimensions stand for, and `leaf` gives the value of a
    dimension or symbol that stands for itself. `number` gives that of a number, which may stand for an extent."""

    def __init__(
        self,
        body: Body,
        resolve: Callable[[Lin], Lin],
        leaf: Callable[[DomainDim | Sym], SSAValue],
        number: Callable[[int], SSAValue] | None = None,
    ):
        self._body = body
        self._resolve = resolve
        self._leaf = leaf
        self._number = number or (lambda value: body.constant(value, INDEX))
        self._known: dict[Lin, SSAValue] = {}

    def lin(self, lin: Lin) -> SSAValue:
        """An index scalar with the expression's value."""
        lin = self._resolve(lin)
        if lin not in self._known:
            self._known[lin] = self._sum(lin)
        return self._known[lin]

    def _sum(self, lin: Lin) -> SSAValue:
        body, total = self._body, None
        for atom, factor in terms(lin):
            part = self._atom(atom)
            part = part if factor == 1 else body(arith.MuliOp(part, self._number(factor)))
            total = part if total is None else body(arith.AddiOp(total, part))
        if total is None:
            return self._number(offset(lin))
        return total if offset(lin) == 0 else body(arith.AddiOp(total, self._number(offset(lin))))

    def _atom(self, atom: DomainDim | Sym | Div | Mod) -> SSAValue:
        if isinstance(atom, DomainDim | Sym):
            return self._leaf(atom)
        value, by = self._sum(atom.value), self._number(atom.by)
        if bounds(atom.value)[0] >= 0:
            return self._body(arith.DivSIOp(value, by) if isinstance(atom, Div) else arith.RemSIOp(value, by))
        quotient = self._body(arith.FloorDivSIOp(value, by))
        if isinstance(atom, Div):
            return quotient
        return self._body(arith.SubiOp(value, self._body(arith.MuliOp(quotient, by))))
