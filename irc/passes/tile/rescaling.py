"""Sums of exponentials relative to a maximum, computed in the same walk as the maximum.

`sum(exp(a - max(a)) * g)` seems to need the maximum first. But a sum relative to a smaller maximum m is the sum
relative to M after a multiplication by exp(m - M), so one walk over a long row can keep both: wherever the maximum
grows, what has been summed is scaled down (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

from irc.dtypes import element_of
from irc.passes.tile.index_maps import Dim
from irc.passes.tile.nodes import Apply, Choose, Constant, Node, Reduced, name_of, walk_nodes
from irc.passes.tile.program import Program


def maximum_of(program: Program, node: Reduced, column: Dim, candidates: Sequence[Reduced]) -> Reduced | None:
    """The maximum among `candidates`, which run over the same column, that the summands of `node` are scaled by; None
    where there is none, or where the sum depends on it in another way."""
    if name_of(node.op) != "sum" or not element_of(node.source).is_float:
        return None
    inside = walk_nodes([node.input], inside=lambda n: not isinstance(n, Reduced))
    below = [n for n in inside if isinstance(n, Reduced)]
    if len(below) != 1 or below[0] not in candidates or name_of(below[0].op) != "max":
        return None
    return below[0] if _scales(program, node.input, below[0], column) else None


def _scales(program: Program, node: Node, maximum: Reduced, column: Dim) -> bool:
    """Whether the node is exp(-maximum) times what does not depend on the maximum."""
    match node:
        case Apply() if name_of(node.op) == "exp":
            power = node.inputs[0]
            if not isinstance(power, Apply) or name_of(power.op) != "sub" or power.inputs[1] is not maximum:
                return False
            # What does not change along the column is computed outside the walk, where there is no maximum yet.
            return _is_free(power.inputs[0]) and column in program.dims(power.inputs[0])
        case Apply() if name_of(node.op) in ("mul", "div"):
            a, b = node.inputs
            if name_of(node.op) == "mul" and _is_free(a):
                a, b = b, a
            return _is_free(b) and _scales(program, a, maximum, column)
        case Choose():
            outside = node.outside
            return (
                isinstance(outside, Constant) and outside.value == 0 and _scales(program, node.inside, maximum, column)
            )
        case _:
            return False


def _is_free(node: Node) -> bool:
    return not any(isinstance(n, Reduced) for n in walk_nodes([node]))
