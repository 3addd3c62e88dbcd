"""The `kernel` dialect: arrays between fused regions, each of which is one launch."""

from xdsl.ir import Dialect

from irc.dialects.kernel.config import (
    INDEXINGS,
    INSTRUCTIONS,
    REDUCTIONS,
    SCHEDULES,
    ConfigAttr,
    ConfigFields,
)
from irc.dialects.kernel.ops import Anchor, AnchorAttr, FusedOp, LaunchOp, YieldOp
from irc.dialects.kernel.tile_sizes import TileSizes

Kernel = Dialect("kernel", [FusedOp, LaunchOp, YieldOp], [AnchorAttr, ConfigAttr])

__all__ = [
    "INDEXINGS",
    "INSTRUCTIONS",
    "REDUCTIONS",
    "SCHEDULES",
    "Anchor",
    "AnchorAttr",
    "ConfigAttr",
    "ConfigFields",
    "FusedOp",
    "Kernel",
    "LaunchOp",
    "TileSizes",
    "YieldOp",
]
