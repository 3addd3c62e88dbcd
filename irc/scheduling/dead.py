"""Dead tile code: values that nothing reads."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from irc.dialects import tile

_VALUES = (
    tile.LoadOp,
    tile.LoadIndexOp,
    tile.MapOp,
    tile.IotaOp,
    tile.SplatOp,
    tile.SliceOp,
    tile.ConcatOp,
    tile.PermuteOp,
    tile.ReshapeOp,
    tile.ReduceOp,
    tile.FoldOp,
    tile.UnfoldOp,
    tile.ScanOp,
    tile.ConvertOp,
    tile.SumWarpsOp,
    tile.SubviewOp,
    tile.TransposeOp,
    tile.AllocOp,
    tile.ReadOp,
)
"""Ops that do nothing but make a value, beside those of arith, math and scalar."""


def erase_dead(root: Operation) -> None:
    """Erases scalar and tile ops inside `root` whose results nothing reads, innermost and last first."""
    for op in reversed(list(root.walk())):
        makes_value = isinstance(op, _VALUES) or op.name.startswith(("arith.", "math.", "scalar."))
        if makes_value and op is not root and not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
