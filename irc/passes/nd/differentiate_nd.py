"""differentiate-nd: appends the gradients of a scalar result to a function's results, by reverse mode.

`irc/autodiff/reverse_mode.py` says how, docs/autodiff.md what the rules are. It runs before `widen-arithmetic`, best
before `decompose-nd`: `softmax`, `log_softmax`, the norms, `attention` and the activations have rules of their own, in
terms of their results. Everything that decomposition leaves can be differentiated too.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from irc.autodiff.reverse_mode import differentiate
from irc.dialects.nd.base import element_of
from irc.ir.functions import entry_of
from irc.ir.passes import Pass


@dataclass(frozen=True)
class DifferentiateNdPass(Pass):
    """Appends the gradients of a scalar result with respect to arguments to a function's results."""

    name = "differentiate-nd"

    wrt: tuple[int, ...] = ()
    """The numbers of the arguments, whose gradients are returned in this order: `wrt=0,2`. By default all floats."""

    of: int = 0
    """The number of the result that is differentiated, a rank-0 float."""

    values: bool = True
    """Keep the function's own results, before the gradients."""

    func: str | None = None
    """The function, by default the last."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_of(op, self.func)
        arguments = enumerate(function.body.block.args)
        wrt = self.wrt or [number for number, value in arguments if element_of(value).is_float]
        differentiate(function, wrt, of=self.of, values=self.values)
