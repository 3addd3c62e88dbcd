"""The `nd` dialect: immutable n-d arrays with numpy's meaning and static shapes.

One module a family of ops: `unary`, `binary`, `elementwise` (conversions), `shape`, `indexed`, `reduce`, `linear`,
`grouped`, `convolution`, `windows`, `creation`, `composed`, `attention`, `collective`. Their base classes
(`Elementwise`, `IndexMapOp`, `ReduceOp`, `ComposedOp`, ...) are what passes test for. `table` has what is known of an
elementwise op; `irc/interpreters/nd/interpreter.py` says in numpy what each of the others means.
"""

# pyright: reportUnusedImport=false

from __future__ import annotations

from irc.dialects.nd import (
    attention,
    binary,
    collective,
    convolution,
    creation,
    elements,
    elementwise,
    grouped,
    indexed,
    linear,
    reduce,
    shape,
    unary,
    windows,
)
from irc.dialects.nd import composed as composed_ops
from irc.dialects.nd.attention import AttentionFamilyOp, AttentionLogSumExpOp, AttentionOp, AttentionWeightsOp
from irc.dialects.nd.base import (
    NdOp,
    element_of,
    normalized,
    normalized_axes,
    rank_of,
    shape_of,
    tensor,
    type_of,
)
from irc.dialects.nd.binary import *  # noqa: F403
from irc.dialects.nd.collective import AllGatherOp, AllReduceOp, CollectiveOp, ReduceScatterOp
from irc.dialects.nd.composed import (
    ComposedOp,
    LayerNormOp,
    LogSoftmaxOp,
    NormalizeOp,
    NormOp,
    RmsNormOp,
    SoftmaxFamilyOp,
    SoftmaxOp,
)
from irc.dialects.nd.convolution import ConvOp
from irc.dialects.nd.creation import (
    ConstantOp,
    ExtentOp,
    IotaOp,
    RandomNormalOp,
    RandomOp,
    RandomUniformOp,
)
from irc.dialects.nd.elements import ElementsAttr
from irc.dialects.nd.elementwise import (
    BinaryOp,
    BitcastOp,
    CastOp,
    CompareOp,
    ConversionOp,
    Elementwise,
    NumberUnaryOp,
    UnaryOp,
)
from irc.dialects.nd.grouped import GroupedMatmulOp
from irc.dialects.nd.indexed import (
    AscendingOp,
    CheckIndicesOp,
    IndexedOp,
    OneHotOp,
    ReorderOp,
    ScatterAddOp,
    TakeAlongOp,
    TakeOp,
)
from irc.dialects.nd.linear import MatmulOp
from irc.dialects.nd.reduce import (
    AccumulateOp,
    AllOp,
    AnyOp,
    ArgmaxOp,
    ArgminOp,
    ArgReduceOp,
    AxisOp,
    CumprodOp,
    CumsumOp,
    ExtremeOp,
    FloatResultOp,
    MaxOp,
    MeanOp,
    MinOp,
    ProdOp,
    ReduceOp,
    ScanOp,
    SelectOp,
    SortOp,
    SumOp,
    TopkOp,
    VarOp,
)
from irc.dialects.nd.shape import (
    BroadcastOp,
    ConcatOp,
    FlipOp,
    IndexMapOp,
    MoveOp,
    PadOp,
    PermuteOp,
    ReshapeOp,
    SliceOp,
    TileOp,
    TriangleOp,
    TrilOp,
    TriuOp,
)
from irc.dialects.nd.table import ROWS
from irc.dialects.nd.unary import *  # noqa: F403
from irc.dialects.nd.windows import ReduceWindowOp
from irc.ir.dialects import dialect_of

Nd = dialect_of(
    "nd",
    [
        binary,
        unary,
        composed_ops,
        attention,
        elementwise,
        indexed,
        linear,
        grouped,
        convolution,
        creation,
        reduce,
        windows,
        shape,
        collective,
        elements,
    ],
)
