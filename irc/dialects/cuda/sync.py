"""Synchronization of threads, and exchange of values inside a warp. `reason` of a barrier says what it orders."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, i1, i32
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.async_ops import BareOp
from irc.dialects.cuda.common import check_one_of
from irc.dialects.cuda.spelling import cpp, ptx
from irc.dialects.cuda.types import size_of
from irc.ir.operations import BuiltOp, EffectOp

SHUFFLES = ("xor", "up", "down", "index")


def check_group(threads: IntegerAttr) -> None:
    """Refuse a number of threads that cannot meet at a named barrier."""
    number_of_threads = threads.value.data
    if number_of_threads % 32 or not 32 <= number_of_threads <= 1024:
        raise VerifyException(f"expected a multiple of 32 threads up to 1024, found {number_of_threads}")


class ReasonedOp(BareOp):
    """A barrier that may say why it is there."""

    reason = opt_prop_def(StringAttr)


@cpp("__syncthreads()")
class SyncOp(ReasonedOp):
    """All threads of the block, `__syncthreads()`."""

    name = "cuda.sync"


@cpp("__syncwarp()", whole_warps=True)
class WarpSyncOp(ReasonedOp):
    """All lanes of the warp, `__syncwarp()`."""

    name = "cuda.warp_sync"


@ptx("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned")
class ClusterSyncOp(BareOp):
    """All threads of the cluster (barrier.cluster.arrive and wait)."""

    name = "cuda.cluster_sync"


class NamedBarrierOp(EffectOp):
    """A barrier of hardware, 0 to 15 (0 is the block's), for `threads` threads, a multiple of 32 (PTX ISA, 9.7.13.1
    bar)."""

    id = operand_def(i32)
    threads = prop_def(IntegerAttr)
    reason = opt_prop_def(StringAttr)
    assembly_format = "$id attr-dict"

    def verify_(self) -> None:
        check_group(self.threads)


@ptx("bar.sync {id}, {threads}", whole_warps=True)
class NamedSyncOp(NamedBarrierOp):
    """Arrive on a named barrier and wait for it, `bar.sync`."""

    name = "cuda.named_sync"


@ptx("bar.arrive {id}, {threads}", whole_warps=True)
class NamedArriveOp(NamedBarrierOp):
    """Arrive on a named barrier without waiting, `bar.arrive`."""

    name = "cuda.named_arrive"


@cpp(lambda op: "__threadfence_block()" if op.scope.data == "block" else "__threadfence()")
class FenceOp(EffectOp):
    """Order the thread's memory accesses for the `block` or the `device` (`__threadfence_block`, `__threadfence`)."""

    name = "cuda.fence"
    scope = prop_def(StringAttr)
    assembly_format = "$scope attr-dict"

    def verify_(self) -> None:
        check_one_of("scope", self.scope.data, ("block", "device"))


@ptx(lambda op: f"setmaxnreg.{'inc' if op.grow.value.data else 'dec'}.sync.aligned.u32 {{count}}", whole_warps=True)
class SetRegistersOp(EffectOp):
    """Change the registers of each thread of the warp group to `count`: `grow` or shrink (PTX ISA, 9.7.19.5
    setmaxnreg)."""

    name = "cuda.set_registers"
    count = prop_def(IntegerAttr)
    grow = prop_def(BoolAttr)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        count = self.count.value.data
        if count % 8 or not 24 <= count <= 256:
            raise VerifyException(f"expected a multiple of 8 registers in 24..256, found {count}")


@ptx("griddepcontrol.wait")
class DependencyWaitOp(BareOp):
    """Wait until the grids that this one depends on have finished (griddepcontrol.wait); sm_90 and later."""

    name = "cuda.dependency_wait"


@ptx("griddepcontrol.launch_dependents")
class LaunchDependentsOp(BareOp):
    """Let the grids that depend on this one start (griddepcontrol.launch_dependents); sm_90 and later."""

    name = "cuda.launch_dependents"


@cpp("__any_sync(0xffffffffu, {condition})", whole_warps=True)
class AnyOp(BuiltOp):
    """Whether a condition holds in any lane of the warp, all 32 of which take part, `__any_sync`."""

    name = "cuda.any"
    condition = operand_def(i1)
    result = result_def(i1)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$condition attr-dict"


@irdl_op_definition
class ShuffleOp(BuiltOp):
    """The value of another lane, all 32 taking part: lane ^ n, lane - n, lane + n or n, where `up` and `down` leave
    ends alone."""

    name = "cuda.shuffle"
    T: ClassVar = VarConstraint("T", AnyAttr())
    mode = prop_def(StringAttr)
    value = operand_def(T)
    lane = operand_def(i32)
    result = result_def(T)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$mode $value `,` $lane attr-dict `:` type($value)"

    def verify_(self) -> None:
        check_one_of("mode", self.mode.data, SHUFFLES)
        size_of(self.value.type)
