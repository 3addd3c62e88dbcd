"""canonicalize-nd: simplification, constant folding, common subexpressions and dead code, until nothing changes.

The canonical forms are documented with the rewrites that make them, one file a subject:

| file | subject |
|---|---|
| `canonicalize_arithmetic` | identities that are exact for every operand |
| `canonicalize_casts` | casts that do nothing, pairs of casts |
| `canonicalize_shapes` | permute, reshape, broadcast, slice, pad, concat, flip |
| `canonicalize_broadcasts` | elementwise work goes before a broadcast |
| `canonicalize_reshapes` | axes of extent 1 dropped from the work between reshapes |
| `canonicalize_matmul` | transposes and broadcasts absorbed into dimension numbers |
| `canonicalize_convolution` | permutes and pads absorbed into convolutions; those that are products |
| `canonicalize_one_hot` | choices by a comparison, and sums of those that hit one place |
| `canonicalize_indices` | checks of indices that always hold |
| `fold_constants` | ops on constants |
| `value_numbering` | common subexpressions |

Every rewrite leaves the value of each result as it was, to the bit, up to the payload of NaN; an exception is `pow`
with 2 and 3, which becomes a product. None needs another pass to have run, and all hold before and after
`widen-arithmetic`: a rounding that the user asked for is not removed. A program that does not settle within the
driver's limit is a diagnostic (`irc/ir/rewriting.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.canonicalization.arithmetic import ARITHMETIC
from irc.canonicalization.broadcasts import BROADCASTS
from irc.canonicalization.casts import CASTS
from irc.canonicalization.convolution import CONVOLUTION
from irc.canonicalization.fold_constants import fold
from irc.canonicalization.indices import INDICES
from irc.canonicalization.matmul import MATMUL
from irc.canonicalization.one_hot import ONE_HOT
from irc.canonicalization.reshapes import RESHAPES
from irc.canonicalization.shapes import SHAPES
from irc.canonicalization.simplify import SimplifyPattern, merged
from irc.canonicalization.value_numbering import merge_common
from irc.ir.passes import Pass
from irc.ir.rewriting import rewrite

TABLE = merged(ARITHMETIC, SHAPES, CASTS, MATMUL, CONVOLUTION, BROADCASTS, RESHAPES, ONE_HOT, INDICES)


@dataclass(frozen=True)
class CanonicalizeNdPass(Pass):
    """Simplifies nd: identities, shapes, casts, constants, common subexpressions, dead code."""

    name = "canonicalize-nd"

    fold_constants: bool = True
    """Evaluate ops on constants."""

    limit: int = 64
    """Rewrites for each op of the module before the pass gives up with a diagnostic."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = SimplifyPattern(TABLE, (fold,) if self.fold_constants else ())
        rewrite(op, [pattern], what=self.name, limit=self.limit, after_walk=merge_common)
