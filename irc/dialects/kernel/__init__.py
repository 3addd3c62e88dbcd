"""The `kernel` dialect: arrays between fused regions, each of which is one launch."""

# pyright: reportUnusedImport=false

from irc.dialects.kernel import config, ops
from irc.dialects.kernel.config import INDEXINGS, INSTRUCTIONS, REDUCTIONS, SCHEDULES, STAYING, ConfigAttr, ConfigFields
from irc.dialects.kernel.ops import Anchor, AnchorAttr, FusedOp, LaunchOp, YieldOp
from irc.dialects.kernel.tile_sizes import TileSizes
from irc.ir.dialects import dialect_of

Kernel = dialect_of("kernel", [ops, config])
