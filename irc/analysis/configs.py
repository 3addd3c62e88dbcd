"""The config of a tile program, for the passes that read it."""

from __future__ import annotations

from irc.analysis.budgets import DEFAULT_WARPS
from irc.dialects import tile
from irc.dialects.kernel import ConfigAttr, ConfigFields


def config_of(program: tile.ProgramOp) -> ConfigFields:
    """What was chosen for the program; nothing where it has no config."""
    return program.config.data if isinstance(program.config, ConfigAttr) else ConfigFields()


def consumer_partitions(program: tile.ProgramOp) -> int:
    """The partitions that compute tiles beside each other."""
    return 2 if config_of(program).schedule == "pingpong" else 1


def compute_warps(program: tile.ProgramOp) -> int:
    """The warps that compute; producers come on top."""
    return config_of(program).warps or DEFAULT_WARPS
