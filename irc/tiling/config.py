"""What tiling reads of a kernel's config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute


@dataclass
class Config:
    """The fields of `#kernel.config` that tiling reads; None where nothing was chosen."""

    tile: tuple[int, ...] | None = None
    schedule: str = "grid"
    group: int | None = None
    reduction: str | None = None
    unroll: int | None = None
    cluster: tuple[int, ...] | None = None
    swap_ab: bool = False
    """Whether the rows of a product's instruction lie along N."""

    @staticmethod
    def of(attribute: Attribute | None) -> Config:
        fields: Any = attribute
        if fields is None:
            return Config()
        schedule = "persistent" if fields.schedule == "pingpong" else fields.schedule or "grid"
        swap_ab = bool(fields.swap_ab)
        return Config(fields.tile, schedule, fields.group, fields.reduction, fields.unroll, fields.cluster, swap_ab)
