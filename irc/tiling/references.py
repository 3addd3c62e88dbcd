"""References: reductions that what a cascade sums is relative to, and that change from step to step.

What earlier steps have summed becomes right by a factor, exp(c * (now - before)). Any reference will do that is not far
from the maximum, or minimum. So it may lag behind: it is raised only where the maximum has grown by more than some
powers of two. Then exponentials are at most as many powers of two large, and what has been summed need not be rescaled
in most steps (FlashAttention-4, 2026).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, Region, SSAValue

from irc.analysis.cascades import Cascade
from irc.analysis.factors import Exponents
from irc.analysis.op_classes import shape_of
from irc.dialects import tile
from irc.ir.rewriting import give_location
from irc.tiling.combiners import combine_tiles, map_tiles
from irc.tiling.nodes import Dot, Reduced
from irc.tiling.program import ProgramTiling
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import Body
from irc.tiling.scalar_code import APPROXIMATE

Values = Mapping[Reduced, SSAValue]
"""Reductions as they were before."""


@dataclass
class References:
    """Of a cascade, in the order of its reductions. lag: the powers of two by which they may lag behind; None where
    they do not."""

    program: ProgramTiling
    cascade: Cascade
    reductions: Sequence[Reduced]
    products: Sequence[Dot]
    lag: int | None = None

    def __post_init__(self) -> None:
        self.relative: dict[Operation, float] = {}
        """The reductions that others are relative to, each with its largest coefficient."""
        for node in (*self.reductions, *self.products):
            for op, coefficient in self.exponents(node).items():
                self.relative[op] = max(self.relative.get(op, 0.0), abs(coefficient))
        self._nodes = {node.op: node for node in self.reductions}
        self.lagging = self._lagging() if self.lag else []
        """Those that lag behind."""
        self.followed = [node for node in self.lagging if _is_used_behind(self.cascade, node.op.results[0])]
        """Those of them whose true value something behind the loop uses."""
        self._parts: dict[Reduced, SSAValue] = {}
        self._grew: list[SSAValue] = []
        self._kept: dict[Reduced | Dot, SSAValue] = {}
        self._factors: dict[tuple[Operation, float], SSAValue] = {}

    def exponents(self, node: Reduced | Dot) -> Exponents:
        """How what the node sums depends on reductions."""
        found = self.cascade.factors.of(node.op.operands[0])
        assert found is not None, "fuse-kernels makes cascades of what can be rescaled alone"
        return found

    def _lagging(self) -> list[Reduced]:
        """Those that others are relative to; none where one of them is so itself, or comes behind what is."""
        first = [node for node in self.reductions if not self.exponents(node)]
        found = [node for node in first if node.op in self.relative]
        return found if len(found) == len(self.relative) and list(self.reductions[: len(first)]) == first else []

    # In the loop

    def raised(self, inner: ReduceStage, node: Reduced, before: SSAValue, part: SSAValue) -> SSAValue:
        """A lagging reference now. part: the maximum or minimum of the step's columns."""
        assert self.lag is not None
        shape, distance = tile.shape_of(before.type), self.lag * log(2) / self.relative[node.op]

        def has_grown(body: Body, args: Sequence[SSAValue]) -> SSAValue:
            less, more = args if node.monoid == "max" else reversed(args)
            growth = body(arith.SubfOp(more, less))
            return body.compare("ogt", growth, body.constant(distance, growth.type))

        grew = inner.map([before, part], i1, shape, has_grown, node.location)
        self._parts[node] = part
        self._grew.append(grew)
        return map_tiles(inner, node, [before, part, grew], shape, lambda body, x: body.select(x[2], x[1], x[0]))

    def rescaled(
        self, inner: ReduceStage, node: Reduced | Dot, before: Values, sums: Mapping[Dot, SSAValue]
    ) -> SSAValue:
        """What earlier steps gave of a reduction, or of a product, relative to the references as they are now."""
        values: dict[Reduced | Dot, SSAValue] = {**before, **sums}
        if not self.exponents(node):
            return values[node]
        if not self.lagging:
            return self._by_factors(inner, node, values[node], before, self.reductions)
        if not self._kept:
            nodes = [each for each in values if self.exponents(each)]
            results = self._where_raised(inner, {each: values[each] for each in nodes}, before)
            self._kept = dict(zip(nodes, results, strict=True))
        return self._kept[node]

    def _where_raised(
        self, inner: ReduceStage, values: Mapping[Reduced | Dot, SSAValue], before: Values
    ) -> Sequence[SSAValue]:
        """Rescales values where a reference has been raised, in a branch that changes nothing of the other rows."""
        node, together = self.lagging[0], self._grew[0]
        for other in self._grew[1:]:
            shape = tile.shape_of(together.type)
            together = map_tiles(inner, node, [together, other], shape, lambda body, x: body(arith.OrIOp(x[0], x[1])))
        vote = inner.insert(tile.AnyOp(together), node.location)
        block = Block()
        inside = ReduceStage(self.program, block, inner.axes, inner.scalars)
        inside.computed |= inner.computed
        changed = [self._by_factors(inside, each, value, before, self.lagging) for each, value in values.items()]
        block.add_op(scf.YieldOp(*changed))
        sides = Region(block), Region(Block([scf.YieldOp(*values.values())]))
        branch = scf.IfOp(vote, [value.type for value in values.values()], *sides)
        give_location(branch, node.location)
        inner.insert(branch, node.location)
        return branch.results

    def follow(self, inner: ReduceStage, before: Sequence[SSAValue]) -> list[SSAValue]:
        """The true values of `followed`, with this step's columns."""
        return [
            combine_tiles(inner, node, [value], [self._parts[node]], tile.shape_of(value.type))[0]
            for node, value in zip(self.followed, before, strict=True)
        ]

    # Behind it

    def catch_up(self, stage: ReduceStage, ended: Values) -> None:
        """Makes what the loop gave relative to true values, where these are used: `stage` has them, and `ended` the
        references as the loop left them."""
        self._factors = {}
        for node in (*self.reductions, *self.products) if self.followed else ():
            stage.computed[node] = self._by_factors(stage, node, stage.computed[node], ended, self.followed)

    # Factors

    def _by_factors(
        self, inner: ReduceStage, node: Reduced | Dot, value: SSAValue, before: Values, references: Sequence[Reduced]
    ) -> SSAValue:
        """A value that is relative to reductions as they were before, relative to these of them as they are now."""
        for op, coefficient in self.exponents(node).items():
            of = self._nodes[op]
            if of in references:
                factor = self._factor(inner, of, before[of], coefficient)
                shape = tile.shape_of(value.type)
                value = map_tiles(inner, of, [value, factor], shape, lambda body, x: body(arith.MulfOp(x[0], x[1])))
        return value

    def _factor(self, inner: ReduceStage, node: Reduced, before: SSAValue, coefficient: float) -> SSAValue:
        """exp(coefficient * (now - before)) of a reduction, once for all that is rescaled by it."""
        key = node.op, coefficient
        if key not in self._factors:
            now = inner.computed[node]

            def factor(body: Body, args: Sequence[SSAValue]) -> SSAValue:
                distance = body(arith.SubfOp(args[0], args[1]))
                scale = body.constant(abs(coefficient), distance.type)
                scaled = distance if abs(coefficient) == 1 else body(arith.MulfOp(distance, scale))
                return body(math.ExpOp(scaled, APPROXIMATE))

            pair = [before, now] if coefficient < 0 else [now, before]
            self._factors[key] = map_tiles(inner, node, pair, tile.shape_of(before.type), factor)
        return self._factors[key]


def _is_used_behind(cascade: Cascade, value: SSAValue) -> bool:
    """Whether something behind the loop of a cascade uses a value that rows have, or what only moves it."""
    for user in {use.operation for use in value.uses}:
        if user not in cascade.between and user not in cascade.products:
            return True
        is_row = user in cascade.between and shape_of(user.results[0]) != cascade.domain
        if is_row and user not in cascade.reductions and _is_used_behind(cascade, user.results[0]):
            return True
    return False
