"""What tiling reads of a kernel's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute


@dataclass
class Config:
    """The fields of `#kernel.config` that tiling reads; None where nothing was chosen."""

    tile: Mapping[str, int] = field(default_factory=dict[str, int])
    """By the names of `#kernel.config`."""
    schedule: str = "grid"
    group: int | None = None
    reduction: str | None = None
    unroll: int | None = None
    cluster: tuple[int, ...] | None = None
    swap_ab: bool = False
    """Whether the rows of a product's instruction lie along N."""
    lag: int | None = None
    """Powers of two by which exponentials of a cascade may exceed 1 (`irc/tiling/references.py`)."""
    warps: int | None = None
    """Where the instruction is one of warp groups: how many multiply."""
    is_direct: bool = False
    """Whether a product is summed in registers, without tiles of its operands."""
    is_by_columns: bool = False
    """The same, and a thread has whole columns of the result: all of M."""
    parts: int = 1
    """Parts of K whose products blocks add up one after the other."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The sizes of the tile in order, for results that are computed beside what the kernel is built around, and so
        have other dimensions."""
        return tuple(self.tile.values()) or None

    @staticmethod
    def of(attribute: Attribute | None) -> Config:
        fields: Any = attribute
        if fields is None:
            return Config()
        schedule = "persistent" if fields.schedule == "pingpong" else fields.schedule or "grid"
        return Config(
            fields.tile or {},
            schedule,
            fields.group,
            fields.reduction,
            fields.unroll,
            fields.cluster,
            bool(fields.swap_ab),
            fields.lag,
            fields.warps if fields.instruction == "wgmma" else None,
            fields.instruction in ("direct", "columns"),
            fields.instruction == "columns",
            fields.split if fields.split_sums == "serial" else 1,
        )
