"""recompute-nd: which values are kept for later kernels, and which are computed again there.

A backward pass uses what the forward pass computed; so does a residual connection. Between the two stand products, so
the value has to be written to memory and read again, or computed again from values that are there. This pass decides
for all such values together, and gives the later ops copies of what is computed again. The copies carry the attribute
`nd.repeated`: value numbering does not join them with the originals, and `fuse-kernels` computes them in each kernel
that uses them.

**Stages.** A *barrier* is an op that needs its operands whole: a product, a `conv`, a `sort`, a `scatter_add`. The
stage of a value is the greatest number of barriers on a way to it. Where an op of a later stage than its operand's
uses the operand, something is kept.

**Cost**, in bytes of memory traffic. Keeping a value costs its bytes to write it, unless it is written anyway (a result
of the function, an operand of a barrier), and its bytes to read it; what depends on arguments alone needs a kernel of
its own to be kept. Only ops that fuse anywhere are computed again:
elementwise ones, broadcasts, constants. Each costs its operations (`op_classes.cost_of`), in bytes by the target's
ratio of bandwidth to arithmetic. The cheapest choice is a minimum cut between what has to be kept (arguments, results
of barriers and of reductions) and the later uses, through a network with a node for each value; of several the one that
computes least again. What more than two stages would read, and more of it than a value that is computed from it has, is
not computed from again. This is AOTAutograd's partitioner (arXiv:2204.04206 has the idea for a whole graph) with prices
for arithmetic and without its boundary between forward and backward.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue, Use

from irc.analysis.min_cut import Network
from irc.analysis.op_classes import (
    cost_of,
    is_ascending,
    is_contraction,
    is_elementwise,
    is_fusible,
    is_made,
    is_unit_reshape,
    size_of,
)
from irc.dialects.nd.base import element_of
from irc.dialects.nd.declared import declared_element
from irc.ir.blocks import ops_in
from irc.ir.discardable import REPEATED
from irc.ir.iteration import is_broadcast
from irc.ir.passes import Pass
from irc.ir.rewriting import remove_dead_code
from irc.ir.targets import Target, target_of
from irc.ir.walks import operands_behind, reached

MAX_PATHS = 64
"""Ways from a value that is computed again to what it is computed from: `fuse-kernels` looks at each of them."""

MAX_STAGES = 2
"""Stages that read what is kept, as the cut counts them: it counts each read once."""


@dataclass(frozen=True)
class RecomputeNdPass(Pass):
    """Decides which values are kept for later kernels and which are computed again there."""

    name = "recompute-nd"

    explain: bool = False
    """Print what is kept and what is computed again, with its costs, to stderr."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in ops_in(op) if isinstance(inner, FuncOp)]:
            if function.is_declaration:
                continue
            remove_dead_code(function)
            plan = _Recomputation(function.body.block, target_of(op))
            if self.explain:
                print(plan.explain(function.sym_name.data), end="", file=sys.stderr)
            plan.apply()
            remove_dead_code(function)


def is_barrier(op: Operation) -> bool:
    """Whether the op needs its operands whole."""
    return is_contraction(op) or (op.name.startswith("nd.") and not is_fusible(op))


def is_recomputable(op: Operation) -> bool:
    """Whether the op fuses into any kernel."""
    return is_elementwise(op) or is_made(op) or is_broadcast(op) or is_unit_reshape(op)


def bytes_of(value: SSAValue) -> int:
    """Of the value as it is stored: in its declared type."""
    declared = declared_element(value)
    return size_of(value) * (element_of(value) if declared is None else element_of(declared)).size


@dataclass
class _Recomputation:
    """The values of a block that later stages use, and those of them that are computed again."""

    block: Block
    target: Target
    stages: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    late: dict[SSAValue, list[Use]] = field(default_factory=dict[SSAValue, list[Use]])
    barred: set[SSAValue] = field(default_factory=set[SSAValue])
    kept: set[SSAValue] = field(default_factory=set[SSAValue])
    again: set[SSAValue] = field(default_factory=set[SSAValue])

    def __post_init__(self) -> None:
        for argument in self.block.args:
            self.stages[argument] = 0
        for op in self.block.ops:
            stage = max((self.stages[operand] for operand in op.operands), default=0) + is_barrier(op)
            self.stages.update(dict.fromkeys(op.results, stage))
        for value in self.stages:
            if uses := [use for use in value.uses if self._is_late(value, use.operation)]:
                self.late[value] = uses
        self._cut()
        while dear := self._entangled() or self._read_often():
            self.barred |= dear
            self._cut()

    def _is_late(self, value: SSAValue, user: Operation) -> bool:
        """Whether the user is of a later stage, and not one that needs the value stored."""
        return bool(user.results) and not is_barrier(user) and self.stages[user.results[0]] > self.stages[value]

    def _can_recompute(self, value: SSAValue) -> bool:
        """What loops may be bounded by stays an array."""
        if value in self.barred or any(is_ascending(use.operation) for use in value.uses):
            return False
        return isinstance(value.owner, Operation) and is_recomputable(value.owner)

    def _entangled(self) -> set[SSAValue]:
        """Values that have to be kept, so that nothing has more than `MAX_PATHS` ways to what is kept."""
        found: set[SSAValue] = set()
        paths: dict[SSAValue, int] = {}
        for value in self.stages:
            if value not in self.again or not isinstance(value.owner, Operation):
                continue
            paths[value] = sum(paths.get(operand, 1) for operand in value.owner.operands)
            if paths[value] > MAX_PATHS:
                found.add(value)
                paths[value] = 1
        return found

    def _read_often(self) -> set[SSAValue]:
        """Values that cost less to keep than to compute again from what many stages read. The cut counts a read of a
        value once: a running sum, as the gradient of a residual connection is, would be computed of all its terms at
        each of its uses."""
        sources: dict[SSAValue, set[SSAValue]] = {}
        stages: dict[SSAValue, set[int]] = defaultdict(set)
        for value in self.stages:
            if value in self.again and isinstance(value.owner, Operation):
                own = (sources.get(operand, {operand}) for operand in value.owner.operands)
                sources[value] = set().union(*own)
                users = [use.operation for use in self.late.get(value, ())]
                for source in sources[value]:
                    stages[source] |= {self.stages[user.results[0]] for user in users}
        often = {source for source, found in stages.items() if len(found) > MAX_STAGES}
        late = ((value, sources[value] & often) for value in sources if value in self.late)
        return {value for value, found in late if sum(map(bytes_of, found)) > self.keeping(value)}

    # Costs

    def keeping(self, value: SSAValue) -> float:
        """Bytes written, unless they are anyway, and read; before the first product, where no epilogue writes them, a
        launch too."""
        if not isinstance(value.owner, Operation):
            return bytes_of(value)
        if any(isinstance(use.operation, ReturnOp) or is_barrier(use.operation) for use in value.uses):
            return bytes_of(value)
        launch = 0 if self.stages[value] else self.target.launch_time * self.target.bandwidth
        return 2 * bytes_of(value) + launch

    def repeating(self, value: SSAValue) -> float:
        """The op's operations as the bytes that move in the same time."""
        if not self._can_recompute(value):
            return inf
        assert isinstance(value.owner, Operation)
        return cost_of(value.owner) * size_of(value) * self.target.bandwidth / (self.target.flops["f32"] / 2)

    def _read_again(self, value: SSAValue) -> Sequence[SSAValue]:
        return operands_behind(value) if self._can_recompute(value) else ()

    def _cut(self) -> None:
        """Of the values on the sink side, those whose node is cut are kept, the others computed again."""
        network: Network[tuple[str, SSAValue | None]] = Network()
        source, sink = ("source", None), ("sink", None)
        for value in self.late:
            network.connect(("out", value), sink, inf)
        for value in reached(self.late, self._read_again):
            network.connect(source, ("in", value), self.repeating(value))
            network.connect(("in", value), ("out", value), self.keeping(value))
            for operand in self._read_again(value):
                network.connect(("out", operand), ("in", value), inf)
        side = network.sink_side(source, sink)
        self.again = {value for kind, value in side if kind == "in" and value is not None}
        self.kept = {value for kind, value in side if kind == "out" and value is not None} - self.again

    # The rewrite

    def apply(self) -> None:
        """Gives the later uses of each value that is computed again a copy of its op, made of copies."""
        copies: dict[SSAValue, SSAValue] = {}
        for value in self.stages:
            if value not in self.again or not isinstance(value.owner, Operation):
                continue
            copy = value.owner.clone({operand: copies.get(operand, operand) for operand in value.owner.operands})
            copy.attributes[REPEATED] = UnitAttr()
            self.block.insert_op_after(copy, value.owner)
            copies[value] = copy.results[0]
            for use in self.late.get(value, ()):
                use.operation.operands[use.index] = copy.results[0]

    def explain(self, name: str) -> str:
        """A line for each value that is kept or computed again, but those that are free to repeat."""
        lines = [f"{name}: values used after a later product: {len(self.late)}\n"]
        for value in self.stages:
            if value in self.kept:
                lines.append(f"  keep {_described(value)}: {self.keeping(value):.3g} bytes\n")
            elif value in self.again and self.repeating(value):
                price = f"{self.keeping(value):.3g} bytes to keep, {self.repeating(value):.3g} to repeat"
                lines.append(f"  repeat {_described(value)}: {price}\n")
        return "".join(lines)


def _described(value: SSAValue) -> str:
    name = f" {value.name_hint}" if value.name_hint else ""
    what = value.owner.name if isinstance(value.owner, Operation) else "argument"
    return f"{what}{name} {value.type}"
