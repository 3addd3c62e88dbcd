"""The blocks of a loop over tiles."""

from __future__ import annotations

from math import prod

from irc.analysis.configs import config_of
from irc.dialects.tile import ForTilesOp, ProgramOp
from irc.ir.targets import Target


def cluster_count(loop: ForTilesOp) -> int:
    """How many clusters of tiles there are; without clusters, tiles."""
    return prod(loop.tile_counts) // prod(loop.cluster_shape)


def most_clusters(loop: ForTilesOp, program: ProgramOp, machine: Target) -> int:
    """The most clusters that the loop's grid has; 0 where there is no limit."""
    if not loop.stays:
        return 0
    return machine.resident_clusters(prod(loop.cluster_shape)) * (config_of(program).occupancy or 1)


def block_count(loop: ForTilesOp, program: ProgramOp, machine: Target) -> int:
    """How many blocks the loop's grid has."""
    clusters = cluster_count(loop)
    return prod(loop.cluster_shape) * min(clusters, most_clusters(loop, program, machine) or clusters)


def has_rounds(loop: ForTilesOp, program: ProgramOp, machine: Target) -> bool:
    """Whether blocks may have several tiles."""
    return loop.stays and prod(loop.tile_counts) > block_count(loop, program, machine)
