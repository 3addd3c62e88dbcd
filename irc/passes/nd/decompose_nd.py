"""decompose-nd: replaces composed ops by the ones that kernels are made of.

| op | becomes |
|---|---|
| `mean var` | `sum`, division; the variance in two passes, in one where a block cannot hold what it is of |
| `softmax log_softmax` | the maximum is subtracted first; `log_softmax` by the logarithm of the sum |
| `layer_norm rms_norm` | sums, `rsqrt` |
| `attention attention_log_sum_exp attention_weights` | products, a mask, a softmax or the parts of one |
| `gelu silu clamp` and other elementwise ops whose row has a decomposition | what the row says |
| `x * 0.5 * (tanh(u) + 1)` | `x * sigmoid(2 u)` |
| `one_hot tril triu` | `iota`, comparisons |
| `tile` | `broadcast`, `reshape` |
| `reduce_window` of over 32 places | one of all axes but the last, one of that; a reduction where they do not overlap |
| `scatter_add` | a sum over the updates, of those whose index is the place |
| `reorder` | a take |
| `random_normal random_uniform` | Philox in integer arithmetic |

Everything else stays, also `relu sigmoid expm1 log1p reciprocal`, which are cheap to lower well, and `sort topk`, which
run on the cpu target alone.

A composed op on f16, bf16 or f8 is computed in f32 throughout: the decomposition casts to f32, accumulates in f32, and
ends in one `nd.cast` with the attribute `nd.deferred`. `widen-arithmetic` drops that cast where the result is used in
further arithmetic.

In a module with a mesh `scatter_add` stays: partition-nd divides its updates among ranks. On the cpu target one of very
many comparisons stays: it is interpreted, one update after another.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from irc.canonicalization.simplify import SimplifyPattern
from irc.canonicalization.windows import WINDOWS
from irc.decomposition.attention import ATTENTION
from irc.decomposition.gates import GATES
from irc.decomposition.indexed import INDEXED, is_large
from irc.decomposition.norms import NORMS
from irc.decomposition.random import RANDOM
from irc.decomposition.shapes import SHAPES
from irc.dialects.nd.base import element_of
from irc.dialects.nd.composed import ComposedOp
from irc.dialects.nd.declared import is_relaxed, relax
from irc.dialects.nd.indexed import ScatterAddOp
from irc.dialects.nd.table import ROWS
from irc.dialects.nd.terms import Decomposition
from irc.ir.mesh import mesh_of
from irc.ir.passes import Pass
from irc.ir.rewriting import Inserter, rewrite
from irc.ir.targets import target_of
from irc.support.diagnostics import IrcError

DECOMPOSITIONS: dict[type[Operation], Decomposition] = {
    **ATTENTION,
    **{op: row.decomposition for op, row in ROWS.items() if row.decomposition is not None},
    **INDEXED,
    **NORMS,
    **SHAPES,
    **RANDOM,
}


@dataclass(eq=False, repr=False)
class DecomposePattern(RewritePattern):
    """Replaces an op by what its entry of the table inserts. keeps_large: large scatters stay."""

    table: dict[type[Operation], Decomposition]
    keeps_large: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        decomposition = self.table.get(type(op))
        if decomposition is None or (self.keeps_large and isinstance(op, ScatterAddOp) and is_large(op)):
            return
        before = op.prev_op
        term = decomposition(op, Inserter.before(op, rewriter))
        accuracy = op.accuracy if isinstance(op, ComposedOp) else element_of(op.results[0])
        if accuracy.is_narrow_float or is_relaxed(op):
            _relax_between(before, op)
        rewriter.replace(op, (), [term.value])


def _relax_between(before: Operation | None, end: Operation) -> None:
    """Relaxes the ops between `before` (None: the block's start) and `end`."""
    op = end.prev_op
    while op is not None and op is not before:
        relax(op)
        op = op.prev_op


@dataclass(frozen=True)
class DecomposeNdPass(Pass):
    """Replaces composed nd ops by the ones that kernels are made of."""

    name = "decompose-nd"

    keep: tuple[str, ...] = ()
    """Ops to leave as they are, without `nd.`: `keep=softmax,gelu`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kept = () if mesh_of(op) is None else (ScatterAddOp,)
        table = {cls: decomposition for cls, decomposition in self._table().items() if cls not in kept}
        patterns = [DecomposePattern(table, target_of(op).interprets), SimplifyPattern({**GATES, **WINDOWS})]
        rewrite(op, patterns, what=self.name, recursive=False)

    def _table(self) -> dict[type[Operation], Decomposition]:
        names = {cls.name.removeprefix("nd.") for cls in DECOMPOSITIONS}
        for name in self.keep:
            if name not in names:
                raise IrcError(
                    f"{self.name} has no op {name} to keep", None, f"expected one of {', '.join(sorted(names))}"
                )
        return {cls: d for cls, d in DECOMPOSITIONS.items() if cls.name.removeprefix("nd.") not in self.keep}
