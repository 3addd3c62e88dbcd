"""The `kernel` dialect: arrays between fused regions, each of which is one launch."""

from irc.dialects.kernel import config, ops
from irc.dialects.kernel.config import INDEXINGS, INSTRUCTIONS, REDUCTIONS, SCHEDULES, STAYING, ConfigAttr, ConfigFields
from irc.dialects.kernel.ops import Anchor, AnchorAttr, FusedOp, LaunchOp, YieldOp
from irc.dialects.kernel.tile_sizes import TileSizes
from irc.ir.dialects import dialect_of

Kernel = dialect_of("kernel", [ops, config])

__all__ = [
    "INDEXINGS",
    "INSTRUCTIONS",
    "REDUCTIONS",
    "SCHEDULES",
    "STAYING",
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
