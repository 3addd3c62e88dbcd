"""The tile dialect: how a block works. docs/levels/tile.md describes the level."""

# pyright: reportUnusedImport=false

from __future__ import annotations

from irc.dialects import layouts
from irc.dialects.layouts import FragmentAttr, SharedAttr
from irc.dialects.tile import (
    buffers,
    channel,
    compute,
    control,
    dots,
    im2col,
    indices,
    memory,
    order,
    program,
    queue,
    reduce,
    schedule,
    types,
    vote,
    window,
)
from irc.dialects.tile.buffers import AllocOp, BufferAliasOp, ReadOp, SubviewOp, TransposeOp, WriteOp
from irc.dialects.tile.channel import (
    AcquireOp,
    BeginTurnOp,
    ChannelOp,
    CommitOp,
    EndTurnOp,
    NoSlotOp,
    ReleaseOp,
    SkipOp,
    StageOp,
    WaitOp,
    carried_from,
    channel_of,
)
from irc.dialects.tile.compute import ConcatOp, ConvertOp, IotaOp, MapOp, PermuteOp, ReshapeOp, SliceOp, SplatOp
from irc.dialects.tile.control import DYNAMIC, ForTilesOp, PartitionsOp, TurnOffsetsOp, YieldOp
from irc.dialects.tile.dots import AccumulatorOp, AsPendingOp, AwaitOp, DotOp, DotWaitOp, SumWarpsOp
from irc.dialects.tile.im2col import Im2colAttr
from irc.dialects.tile.indices import FindSegmentOp, LoadIndexOp
from irc.dialects.tile.memory import AccessOp, CopyOp, LoadOp, Part, StoreOp, StoreWaitOp
from irc.dialects.tile.order import OrderOp, PassOp, TakeOp, order_of
from irc.dialects.tile.program import ExtentOp, ProgramOp
from irc.dialects.tile.queue import NextTileOp, ReadTicketOp, TakeTicketOp
from irc.dialects.tile.reduce import CombinerOp, FoldOp, ReduceOp, ScanOp, UnfoldOp
from irc.dialects.tile.schedule import AtAttr, place_of
from irc.dialects.tile.types import (
    AccumulatorType,
    BufferType,
    ChannelType,
    OrderType,
    PendingType,
    SlotType,
    TokenType,
    ViewType,
    element_type_of,
    fragment_layout,
    fragment_of,
    shape_of,
    tile_type_of,
    with_fragment,
)
from irc.dialects.tile.vote import AnyOp
from irc.dialects.tile.window import LoadWindowOp
from irc.ir.dialects import dialect_of
from irc.ir.discardable import CLAMPED, SCHEDULED

Tile = dialect_of(
    "tile",
    [
        types,
        layouts,
        im2col,
        schedule,
        program,
        control,
        indices,
        memory,
        buffers,
        window,
        compute,
        reduce,
        dots,
        vote,
        channel,
        order,
        queue,
    ],
)
