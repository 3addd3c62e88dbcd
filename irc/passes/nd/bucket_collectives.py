"""bucket-collectives: reductions over ranks go together, start early and are waited for late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from irc.ir.passes import Pass
from irc.sharding.buckets import bucket
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class BucketCollectivesPass(Pass):
    """Exchange sums in the type that they were declared with. Join `nd.all_reduce` of the same ranks, monoid and
    element type that do not need each other, in the order in which they become ready: small gradients are one exchange,
    without a copy. Then order each function: what the collective needs that is ready first comes first, and that
    collective right behind it, so that the gradients of a layer are exchanged beside the pass over the layers before
    it. What no collective needs (the updates of parameters) comes last.
    """

    name: ClassVar[str] = "bucket-collectives"

    bytes: int = 32 << 20
    """Of the arrays of one exchange; 0 leaves each by itself."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.bytes < 0:
            raise IrcError(f"bucket-collectives: expected bytes of 0 or more, found {self.bytes}")
        for function in [each for each in op.ops if isinstance(each, FuncOp) and not each.is_declaration]:
            bucket(function, self.bytes)
