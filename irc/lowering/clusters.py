"""Where a block is in its cluster."""

from __future__ import annotations

from irc.dialects import cuda
from irc.lowering.emitter import Emitter, Index


def cluster_coordinates(e: Emitter, cluster: tuple[int, int]) -> tuple[Index, Index]:
    """The block's row and column in the cluster. Its rank counts along rows first."""
    row, column = e.split(e.value(cuda.ClusterRankOp()), cluster)
    return row, column
