"""Channels before `lower-channels`: stages of shared memory that some threads or TMA fill and others drain.

`cuda.channel` sets up the barriers. Each partition of threads has an end of it, `cuda.channel_end`, which keeps the
number and the phase of the stage that comes next. The other ops move on at an end. What lies in a stage is no matter
of theirs: they give and take its number.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, UnitAttr, i1, i32
from xdsl.ir import ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from irc.ir.operations import EffectOp
from irc.ir.properties import number, values_of


@irdl_attr_definition
class ChannelType(ParametrizedAttribute, TypeAttribute):
    """A channel."""

    name = "cuda.channel"


@irdl_attr_definition
class ChannelEndType(ParametrizedAttribute, TypeAttribute):
    """The end of a channel that a partition is at."""

    name = "cuda.channel_end"


@irdl_op_definition
class ChannelOp(EffectOp):
    """A channel of some stages, with barriers at bytes of shared memory: `full` has one a stage, which `arrivals` of
    those that fill it complete, `empty` one a stage for `releases` of those that drain it, `turn` one for each of
    `turns`, for the `passes` of those whose turn was before. `thread` is the thread's number in the block: the first
    one sets them up.

    written: threads fill stages, besides TMA. by_warp: each warp releases stages by itself, as where threads read them,
    or where nothing holds the warps of a group together between a wait and the release; else each warp group. cluster:
    the blocks, along two dimensions, that fill each other's stages in rows and columns.
    """

    name = "cuda.channel"
    thread = operand_def(IndexType)
    stages = prop_def(IntegerAttr)
    full = prop_def(IntegerAttr)
    arrivals = prop_def(IntegerAttr)
    empty = prop_def(IntegerAttr)
    releases = prop_def(IntegerAttr)
    turn = opt_prop_def(IntegerAttr)
    turns = opt_prop_def(IntegerAttr)
    passes = opt_prop_def(IntegerAttr)
    written = opt_prop_def(UnitAttr)
    by_warp = opt_prop_def(UnitAttr)
    cluster = opt_prop_def(DenseArrayBase)
    align = prop_def(IntegerAttr, default_value=number(16))
    result = result_def(ChannelType)
    assembly_format = "$thread attr-dict"

    def __init__(
        self,
        thread: SSAValue,
        *,
        stages: int,
        full: tuple[int, int],
        empty: tuple[int, int],
        turn: tuple[int, int, int] | None = None,
        written: bool = False,
        by_warp: bool = False,
        cluster: tuple[int, int] = (1, 1),
        align: int = 16,
    ) -> None:
        """full, empty, turn: where the barriers are, and their arrivals; of turns, how many there are before."""
        counts = stages, *full, *empty, *(turn or (None,) * 3)
        blocks = None if cluster == (1, 1) else cluster
        super().__init__(thread, *counts, align=align, written=written, by_warp=by_warp, cluster=blocks)

    @property
    def cluster_shape(self) -> tuple[int, int]:
        if self.cluster is None:
            return (1, 1)
        rows, columns = values_of(self.cluster)
        return rows, columns

    def verify_(self) -> None:
        if self.stages.value.data < 1:
            raise VerifyException(f"expected a stage at least, found {self.stages.value.data}")
        if len({each is None for each in (self.turn, self.turns, self.passes)}) > 1:
            raise VerifyException("expected a place for barriers of turns, their number and their passes, or none")
        if self.cluster is not None and len(self.cluster) != 2:
            raise VerifyException(f"expected blocks along two dimensions, found {values_of(self.cluster)}")


@irdl_op_definition
class ChannelEndOp(EffectOp):
    """The end of a channel that the partition is at: it `fills` stages, else it drains them. first: its turn is the
    first one."""

    name = "cuda.channel_end"
    channel = operand_def(ChannelType)
    fills = opt_prop_def(UnitAttr)
    first = opt_prop_def(UnitAttr)
    result = result_def(ChannelEndType)
    assembly_format = "$channel attr-dict"


class AtEndOp(EffectOp):
    """An op at the end of a channel."""

    end = operand_def(ChannelEndType)
    assembly_format = "$end attr-dict"

    def verify_(self) -> None:
        if not isinstance(self.end.owner, ChannelEndOp):
            raise VerifyException("expected the result of a cuda.channel_end")


class StageOp(AtEndOp):
    """An op that waits for a stage and gives its number."""

    result = result_def(IndexType)


@irdl_op_definition
class ChannelAcquireOp(StageOp):
    """Wait until the next stage to fill is empty. by: who waits; all threads where it is left out. A thread that fills
    nothing must not: the stage may be filled, drained and filled again before it looks."""

    name = "cuda.channel_acquire"
    end = operand_def(ChannelEndType)
    by = opt_operand_def(i1)
    assembly_format = "$end (`by` $by^)? attr-dict"


@irdl_op_definition
class ChannelBarrierOp(AtEndOp):
    """The address of the barrier that is complete when a stage is full; without a stage, of the one that is being
    filled."""

    name = "cuda.channel_barrier"
    end = operand_def(ChannelEndType)
    stage = opt_operand_def(IndexType)
    result = result_def(i32)
    assembly_format = "$end (` ` `[` $stage^ `]`)? attr-dict"


@irdl_op_definition
class ChannelCommitOp(AtEndOp):
    """The stage that is being filled is full, but for what TMA brings; the next one follows."""

    name = "cuda.channel_commit"


@irdl_op_definition
class ChannelWaitOp(StageOp):
    """Wait until the next stage to drain is full. by: who waits; all threads where it is left out. A thread whose
    partition releases the stage without it must not: it may be filled again before that thread looks."""

    name = "cuda.channel_wait"
    end = operand_def(ChannelEndType)
    by = opt_operand_def(i1)
    assembly_format = "$end (`by` $by^)? attr-dict"


@irdl_op_definition
class ChannelReleaseOp(AtEndOp):
    """The oldest stage that is drained is empty, for those that fill it. `thread` is the thread's number in its
    partition. tcgen05: as soon as the products are complete that the partition's first thread has issued."""

    name = "cuda.channel_release"
    end = operand_def(ChannelEndType)
    thread = operand_def(IndexType)
    tcgen05 = opt_prop_def(UnitAttr)
    assembly_format = "$end `,` $thread attr-dict"


@irdl_op_definition
class ChannelSkipOp(AtEndOp):
    """Leave out the next `count` stages, which another consumer drains."""

    name = "cuda.channel_skip"
    end = operand_def(ChannelEndType)
    count = operand_def(IndexType)
    assembly_format = "$end `,` $count attr-dict"


class TurnOp(AtEndOp):
    """An op about a turn, by its number."""

    turn = prop_def(IntegerAttr)


@irdl_op_definition
class ChannelBeginTurnOp(TurnOp):
    """Wait until it is this turn."""

    name = "cuda.channel_begin_turn"


@irdl_op_definition
class ChannelPassTurnOp(TurnOp):
    """It is this turn, as soon as all warps of the partition whose turn it was are here. `thread` is the thread's
    number in its partition."""

    name = "cuda.channel_pass_turn"
    end = operand_def(ChannelEndType)
    thread = operand_def(IndexType)
    assembly_format = "$end `,` $thread attr-dict"


@irdl_op_definition
class ChannelDrainOp(AtEndOp):
    """Wait until all stages that were filled are empty. by: who waits; all threads where it is left out."""

    name = "cuda.channel_drain"
    end = operand_def(ChannelEndType)
    by = opt_operand_def(i1)
    assembly_format = "$end (`by` $by^)? attr-dict"
