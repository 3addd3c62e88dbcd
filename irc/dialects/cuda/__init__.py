"""The cuda dialect: a kernel is the code of one thread."""

# pyright: reportUnusedImport=false

from irc.dialects.cuda import (
    async_ops,
    channel,
    dot,
    exchange,
    instructions,
    kernel,
    memory,
    packed,
    sync,
    tcgen05,
    tensor_core,
    thread,
    types,
)
from irc.dialects.cuda.async_ops import (
    BarrierArriveClusterOp,
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierWaitOp,
    CpAsyncCommitOp,
    CpAsyncOp,
    CpAsyncWaitOp,
    FenceBarrierInitOp,
    FenceProxyAsyncOp,
    TmaLoadOp,
    TmaStoreCommitOp,
    TmaStoreOp,
    TmaStoreWaitOp,
)
from irc.dialects.cuda.channel import (
    AtEndOp,
    ChannelAcquireOp,
    ChannelBarrierOp,
    ChannelBeginTurnOp,
    ChannelCommitOp,
    ChannelDrainOp,
    ChannelEndOp,
    ChannelEndType,
    ChannelOp,
    ChannelPassTurnOp,
    ChannelReleaseOp,
    ChannelSkipOp,
    ChannelType,
    ChannelWaitOp,
)
from irc.dialects.cuda.dot import TCGEN05, WGMMA, DotOp, MatrixOp, MatrixType
from irc.dialects.cuda.exchange import ScratchOp, SharedAccessOp
from irc.dialects.cuda.instructions import INSTRUCTIONS, Instruction, InstructionOp, LookupOp
from irc.dialects.cuda.kernel import KernelOp, ReturnOp
from irc.dialects.cuda.memory import (
    AtomicOp,
    AwaitOp,
    LdmatrixOp,
    LoadAcrossOp,
    LoadOp,
    LoadOrOp,
    SharedLoadOp,
    SharedOp,
    SharedStoreOp,
    StmatrixOp,
    StoreOp,
)
from irc.dialects.cuda.packed import BYTE, PACKED, PAIR, WORD, Packed, PackedOp, PackedWidenOp
from irc.dialects.cuda.spelling import SPELLINGS, Spelling
from irc.dialects.cuda.sync import (
    AnyOp,
    ClusterSyncOp,
    DependencyWaitOp,
    FenceOp,
    LaunchDependentsOp,
    NamedArriveOp,
    NamedSyncOp,
    SetRegistersOp,
    ShuffleOp,
    SyncOp,
    WarpSyncOp,
)
from irc.dialects.cuda.tcgen05 import (
    Tcgen05AllocOp,
    Tcgen05CommitOp,
    Tcgen05DeallocOp,
    Tcgen05DescriptorOp,
    Tcgen05FenceAfterOp,
    Tcgen05FenceBeforeOp,
    Tcgen05LoadOp,
    Tcgen05MmaOp,
    Tcgen05RelinquishOp,
)
from irc.dialects.cuda.tensor_core import (
    DescriptorOp,
    MmaOp,
    RegistersFenceOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaOp,
    WgmmaRegistersOp,
    WgmmaWaitOp,
)
from irc.dialects.cuda.thread import (
    BlockIdOp,
    ClusterRankOp,
    FirstLaneOp,
    GetOp,
    RegistersOp,
    SetOp,
    ThreadIdOp,
    WarpUniformOp,
)
from irc.dialects.cuda.types import PtrType, RegistersType, TensorMapType, size_of
from irc.ir.dialects import dialect_of

Cuda = dialect_of(
    "cuda",
    [
        types,
        kernel,
        thread,
        instructions,
        packed,
        memory,
        async_ops,
        tensor_core,
        tcgen05,
        sync,
        exchange,
        channel,
        dot,
    ],
)
