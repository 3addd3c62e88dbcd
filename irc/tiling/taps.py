"""The taps of a window that there are at the places of a tile, where that depends on its batches alone.

A phase of a transposed convolution has some of the taps of its kernel. What is multiplied elsewhere is 0, and the loop
over K does not come there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.tiling.domains import Bindings, Space
from irc.tiling.index_code import IndexCode
from irc.tiling.index_maps import DomainDim, Lin, atoms, bounds, constant, lin_of
from irc.tiling.nodes import Choose, Constant, Dot, Node, Test
from irc.tiling.predicates import passed
from irc.tiling.program import INDEX
from irc.tiling.scalar_body import Body
from irc.tiling.stage import Stage


@dataclass
class Taps:
    """The taps along `dims`, before these become one dimension: those from where to where are multiplied, and none
    where an expression of the batch in `needed` is negative. `tests` are what tells them, which hold in the loop."""

    dims: Space
    ranges: dict[DomainDim, tuple[Lin, Lin]] = field(default_factory=dict[DomainDim, tuple[Lin, Lin]])
    needed: list[Lin] = field(default_factory=list[Lin])
    tests: list[Test] = field(default_factory=list[Test])

    @staticmethod
    def of(bindings: Bindings, dot: Dot, dims: Space, batch: Space) -> Taps | None:
        """Those at which tests of taps and batches alone let the right operand of a product be anything but 0; None
        where there are no such tests."""
        taps = Taps(list(dims))
        for test in dot.rhs.tests if isinstance(dot.rhs, Choose) and is_zero(dot.rhs.outside) else ():
            resolved = Test(bindings.resolve(test.lin), test.low, test.high)
            own = [dim for dim in dims if dim in atoms(resolved.lin)]
            factor = dict(resolved.lin.terms).get(own[0], 0) if own else 0
            rest = resolved.lin - lin_of(own[0]) * factor if own else resolved.lin
            if not atoms(rest) <= set(batch) or (own and own[0] in taps.ranges):
                continue
            if not own:
                taps.needed += passed([resolved])
            else:
                first, end = _range(own[0], resolved)
                if bounds(first)[0] < 0 or bounds(end)[1] > own[0].extent:
                    continue
                taps.ranges[own[0]] = first, end
            taps.tests.append(test)
        return taps if taps.tests else None

    def inside(self, node: Node) -> Node:
        """The right operand at one of the taps."""
        assert isinstance(node, Choose)
        tests = tuple(test for test in node.tests if test not in self.tests)
        return Choose(node.source, node.location, tests, node.inside, node.outside) if tests else node.inside

    def begin(self, stage: Stage) -> Steps:
        """What the loop over taps needs, computed before it."""
        body = Body(stage.block, stage.program.op.location)
        code = IndexCode(body, stage.program.resolve, lambda atom: stage.scalars[atom])  # pyright: ignore
        firsts = [code.lin(self._range(dim)[0]) for dim in self.dims]
        counts = [code.lin(self._range(dim)[1] - self._range(dim)[0]) for dim in self.dims]
        for lin in self.needed:  # 1 where it is not negative, else 0
            at_least = body(arith.MaxSIOp(code.lin(lin + 1), body.constant(0, INDEX)))
            counts.append(body(arith.MinSIOp(at_least, body.constant(1, INDEX))))
        return Steps(self, firsts, counts)

    def _range(self, dim: DomainDim) -> tuple[Lin, Lin]:
        return self.ranges.get(dim, (constant(0), constant(dim.extent)))


def is_zero(node: Node) -> bool:
    return isinstance(node, Constant) and node.value == 0


def _range(dim: DomainDim, test: Test) -> tuple[Lin, Lin]:
    """From where to where a dimension runs where a test holds."""
    first, end = constant(0), constant(dim.extent)
    for inequality in passed([test]):
        factor = dict(inequality.terms)[dim]
        rest = inequality - lin_of(dim) * factor
        if factor > 0:
            first = (-rest + (factor - 1)) // factor
        else:
            end = rest // -factor + 1
    return first, end


@dataclass
class Steps:
    """The first tap along each dimension, and how many there are, as scalars; behind these factors of 0 or 1."""

    taps: Taps
    firsts: list[SSAValue]
    counts: list[SSAValue]

    def total(self, stage: Stage) -> SSAValue:
        """How many taps there are."""
        location = stage.program.op.location
        return reduce(lambda a, b: stage.insert(arith.MuliOp(a, b), location), self.counts)

    def place(self, stage: Stage, number: SSAValue) -> SSAValue:
        """Where the tap with a number is among all of the window: at one of them, whatever the number."""
        location = stage.program.op.location
        total: SSAValue | None = None
        for at in reversed(range(len(self.taps.dims))):
            digit = number
            if at:
                one = stage.insert(arith.MaxSIOp(self.counts[at], stage.index(1)), location)
                above = stage.insert(arith.FloorDivSIOp(number, one), location)
                whole = stage.insert(arith.MuliOp(above, one), location)
                digit, number = stage.insert(arith.SubiOp(number, whole), location), above
            tap = stage.insert(arith.AddiOp(digit, self.firsts[at]), location)
            inner = prod(d.extent for d in self.taps.dims[at + 1 :])
            if inner > 1:
                tap = stage.insert(arith.MuliOp(tap, stage.index(inner)), location)
            total = tap if total is None else stage.insert(arith.AddiOp(total, tap), location)
        assert total is not None
        last = stage.index(prod(d.extent for d in self.taps.dims) - 1)
        return stage.insert(arith.MinSIOp(total, last), location)
