"""Asynchronous copies and the barriers that they complete on: cp.async, TMA, mbarrier (PTX ISA, 9.7.9.25 and
9.7.13.15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import FALSE, GLOBAL, SHARED, AccessOp, check_one_of
from irc.dialects.cuda.spelling import ptx
from irc.dialects.cuda.types import PtrType, TensorMapType, size_of
from irc.ir.operations import EffectOp
from irc.ir.properties import number

MAX_ARRIVALS = 2**20 - 1
"""The greatest count of an mbarrier (PTX ISA, 9.7.13.15.9)."""

BARRIER_BYTES = 8
"""Size and alignment of an mbarrier."""


class BareOp(EffectOp):
    """An op that has an effect and nothing else."""

    assembly_format = "attr-dict"


class PendingOp(EffectOp):
    """Wait until at most `pending` of the thread's latest groups are incomplete."""

    MOST: ClassVar[int] = 7
    """Groups that the instruction counts."""

    pending = prop_def(IntegerAttr, default_value=number(0))
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if not 0 <= (found := self.pending.value.data) <= self.MOST:
            raise VerifyException(f"{self.name}: expected 0 to {self.MOST} pending groups, found {found}")


@irdl_op_definition
class CpAsyncOp(AccessOp):
    """Copy `bytes` (4, 8 or 16) from global to shared memory, asynchronously (PTX ISA, cp.async). A false predicate
    writes zeros."""

    name = "cuda.cp_async"
    address = operand_def(i32)
    pointer = operand_def(PtrType)
    offset = operand_def(IndexType)
    predicate = opt_operand_def(i1)
    bytes = prop_def(IntegerAttr, default_value=number(16))
    assembly_format = "$address `,` $pointer `[` $offset `]` (`if` $predicate^)? attr-dict `:` type($pointer)"

    @property
    def accesses(self) -> Mapping[str, int]:
        return dict.fromkeys((GLOBAL, SHARED), self.bytes.value.data)

    def verify_(self) -> None:
        check_one_of("cuda.cp_async: bytes", self.bytes.value.data, (4, 8, 16))


@ptx("cp.async.commit_group")
class CpAsyncCommitOp(BareOp):
    """Make the thread's cp.async since the last commit one group."""

    name = "cuda.cp_async_commit"


@ptx("cp.async.wait_group {pending}")
class CpAsyncWaitOp(PendingOp):
    """Wait until at most `pending` of the thread's latest cp.async groups are incomplete."""

    name = "cuda.cp_async_wait"
    MOST: ClassVar[int] = 63


def _tma_load(op: TmaLoadOp) -> str:
    im2col, moved = (".im2col", ", {moved:h}") if op.moved else ("", "")
    multicast, mask = ("", "") if op.mask is None else (".multicast::cluster", ", {mask:h}")
    kind = f"{len(op.coordinates)}d.shared::cluster.global{im2col}.mbarrier::complete_tx::bytes{multicast}"
    return f"cp.async.bulk.tensor.{kind} [{{address}}], [{{map}}, {{coordinates}}], [{{barrier}}]{moved}{mask}"


def _tma_load_variant(op: TmaLoadOp) -> str:
    return f"{'im2col_' if op.moved else ''}{'' if op.mask is None else 'multicast_'}{len(op.coordinates)}d"


@ptx(_tma_load, variant=_tma_load_variant)
class TmaLoadOp(AccessOp):
    """Load a box to shared memory; its bytes count on the barrier (PTX ISA, cp.async.bulk.tensor). For one thread.

    `coordinates` are the box's first element, outermost dimension first. Where the map has a window, they are its first
    pixel and channel, and `moved` says how far all pixels are moved along each dimension of the window. With a `mask`,
    bit i set, the box and the completion go to the same addresses in block i of the cluster.
    """

    name = "cuda.tma_load"
    map = operand_def(TensorMapType)
    address = operand_def(i32)
    barrier = operand_def(i32)
    mask = opt_operand_def(i32)
    coordinates = var_operand_def(i32)
    moved = var_operand_def(i32)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$map `[` $coordinates `]` (`moved` `[` $moved^ `]`)? `->` $address `,` $barrier (`multicast` $mask^)? "
        "attr-dict `:` type($map)"
    )

    @property
    def accesses(self) -> Mapping[str, int]:
        return _elements(self.map)

    def verify_(self) -> None:
        _check_coordinates(self.map, self.coordinates)
        assert isinstance(self.map.type, TensorMapType)
        if len(self.moved) != len(self.map.type.steps):
            raise VerifyException(
                f"expected a move along {len(self.map.type.steps)} dimensions for {self.map.type}, found "
                f"{len(self.moved)}"
            )


def _tma_store(op: TmaStoreOp) -> str:
    cp, add = ("cp.reduce", ".add.tile") if op.adds else ("cp", "")
    kind = f"{len(op.coordinates)}d.global.shared::cta{add}.bulk_group"
    return f"{cp}.async.bulk.tensor.{kind} [{{map}}, {{coordinates}}], [{{address}}]"


@ptx(_tma_store, variant=lambda op: f"{'add_' if op.adds else ''}{len(op.coordinates)}d")
class TmaStoreOp(AccessOp):
    """Store a box from shared memory; it belongs to the thread's next bulk group. For one thread. With `add` each
    element is added to the one in memory, at once (PTX ISA, cp.reduce.async.bulk.tensor); they are of f32."""

    name = "cuda.tma_store"
    map = operand_def(TensorMapType)
    address = operand_def(i32)
    coordinates = var_operand_def(i32)
    add = prop_def(BoolAttr, default_value=FALSE)
    assembly_format = "$address `->` $map `[` $coordinates `]` attr-dict `:` type($map)"

    @property
    def adds(self) -> bool:
        return bool(self.add.value.data)

    @property
    def accesses(self) -> Mapping[str, int]:
        return _elements(self.map)

    def verify_(self) -> None:
        _check_coordinates(self.map, self.coordinates)
        if isinstance(self.map.type, TensorMapType) and self.map.type.is_im2col:
            raise VerifyException(f"expected a tensor map without a window to store to, found {self.map.type}")
        if self.adds and isinstance(self.map.type, TensorMapType) and str(self.map.type.element) != "f32":
            raise VerifyException(f"expected a tensor map of f32 to add to, found {self.map.type}")


@ptx("cp.async.bulk.commit_group")
class TmaStoreCommitOp(BareOp):
    """Make the thread's TMA stores since the last commit one bulk group."""

    name = "cuda.tma_store_commit"


@ptx(lambda op: f"cp.async.bulk.wait_group{'.read' if op.read.value.data else ''} {{pending}}")
class TmaStoreWaitOp(PendingOp):
    """Wait for the thread's bulk groups but the latest `pending`; with `read`, only until their shared memory has
    been read."""

    name = "cuda.tma_store_wait"
    read = prop_def(BoolAttr, default_value=FALSE)


@ptx("mbarrier.init.shared::cta.b64 [{address}], {count}")
class BarrierInitOp(AccessOp):
    """Make 8 bytes of shared memory a barrier that `count` arrivals complete."""

    name = "cuda.barrier_init"
    address = operand_def(i32)
    count = prop_def(IntegerAttr)
    assembly_format = "$address attr-dict"

    @property
    def accesses(self) -> Mapping[str, int]:
        return {SHARED: BARRIER_BYTES}

    def verify_(self) -> None:
        if not 1 <= self.count.value.data <= MAX_ARRIVALS:
            raise VerifyException(f"expected 1 to {MAX_ARRIVALS} arrivals, found {self.count.value.data}")


@ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{address}], {bytes}")
class BarrierExpectOp(EffectOp):
    """Arrive, and make the phase wait for `bytes` more of TMA loads (mbarrier.arrive.expect_tx)."""

    name = "cuda.barrier_expect"
    address = operand_def(i32)
    bytes = prop_def(IntegerAttr)
    assembly_format = "$address attr-dict"

    def verify_(self) -> None:
        if not 0 <= self.bytes.value.data <= MAX_ARRIVALS:
            raise VerifyException(f"expected 0 to {MAX_ARRIVALS} bytes on a barrier, found {self.bytes.value.data}")


@ptx(
    "{\n.reg .pred done;\n"
    "again: mbarrier.try_wait.parity.shared::cta.b64 done, [{address}], {phase};\n@!done bra again;\n}"
)
class BarrierWaitOp(EffectOp):
    """Wait until the barrier's phase of this parity, 0 or 1, has completed."""

    name = "cuda.barrier_wait"
    address = operand_def(i32)
    phase = operand_def(i32)
    assembly_format = "$address `,` $phase attr-dict"


@ptx("mbarrier.arrive.shared::cta.b64 _, [{address}]")
class BarrierArriveOp(EffectOp):
    """Arrive on a barrier of this block."""

    name = "cuda.barrier_arrive"
    address = operand_def(i32)
    assembly_format = "$address attr-dict"


@ptx(
    "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, {address}, {rank};\n"
    "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}"
)
class BarrierArriveClusterOp(EffectOp):
    """Arrive on the barrier at the same address in block `rank` of the cluster."""

    name = "cuda.barrier_arrive_cluster"
    address = operand_def(i32)
    rank = operand_def(i32)
    assembly_format = "$address `,` $rank attr-dict"


@ptx("fence.mbarrier_init.release.cluster")
class FenceBarrierInitOp(BareOp):
    """Make barrier initialization visible to the cluster and to TMA (fence.mbarrier_init)."""

    name = "cuda.fence_barrier_init"


@ptx("fence.proxy.async.shared::cta")
class FenceProxyAsyncOp(BareOp):
    """Make the thread's shared-memory accesses visible to TMA and wgmma (fence.proxy.async)."""

    name = "cuda.fence_proxy_async"


def _check_coordinates(map: SSAValue, coordinates: Sequence[SSAValue]) -> None:
    assert isinstance(map.type, TensorMapType)
    if len(coordinates) != map.type.rank:
        raise VerifyException(f"expected {map.type.rank} coordinates for {map.type}, found {len(coordinates)}")


def _elements(map: SSAValue) -> Mapping[str, int]:
    """Accesses by TMA: any element of a box may be outside of the array."""
    assert isinstance(map.type, TensorMapType)
    return {GLOBAL: size_of(map.type.element)}
