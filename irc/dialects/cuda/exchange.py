"""Exchanges by way of shared memory before scratch memory is allocated and barriers are inserted: what takes scratch
memory, and which accesses of shared memory have to be ordered.

`allocate-scratch` replaces `cuda.scratch`, `insert-barriers` replaces `cuda.shared_access`. Both ops say by `barrier`
which threads run the code: those that meet at the named barrier of that number, or without one the whole block.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32
from xdsl.irdl import irdl_op_definition, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_one_of
from irc.dialects.cuda.sync import check_group
from irc.dialects.cuda.thread import NewArray
from irc.ir.operations import BuiltOp, EffectOp

ACCESSES = ("write", "read", "begin_read", "end_read")


@irdl_op_definition
class ScratchOp(BuiltOp):
    """The address of `bytes` of scratch memory, aligned to 16, for one exchange. The bytes may be those of another
    exchange of the same threads: accesses of both are ordered by barriers.

    rotates: the exchange is small, and should lie beside the one before it, whose readers it then need not wait for.
    """

    name = "cuda.scratch"
    bytes = prop_def(IntegerAttr)
    rotates = opt_prop_def(UnitAttr)
    barrier = opt_prop_def(IntegerAttr)
    result = result_def(i32)
    traits = traits_def(NewArray())
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if self.bytes.value.data < 1:
            raise VerifyException(f"expected a number of bytes, found {self.bytes.value.data}")


@irdl_op_definition
class SharedAccessOp(EffectOp):
    """The threads are about to access `bytes` of shared memory from an address on; without an address, any of it.

    `write` and `read` say so of what each thread does itself. A read by other hardware, which goes on after the op that
    starts it, has two ends: what was written has to be there at `begin_read`, and what is read may change after
    `end_read`. Other barriers order these two; a read that they also order as it begins has `end_read` alone.

    each_warp: each warp accesses a part of the bytes that no other warp does, the same part in all accesses of the same
    bytes with the same number. So they need only the barrier of a warp between them.
    """

    name = "cuda.shared_access"
    kind = prop_def(StringAttr)
    address = opt_operand_def(i32)
    bytes = opt_prop_def(IntegerAttr)
    each_warp = opt_prop_def(IntegerAttr)
    barrier = opt_prop_def(IntegerAttr)
    threads = opt_prop_def(IntegerAttr)
    assembly_format = "$kind (` ` `[` $address^ `]`)? attr-dict"

    def verify_(self) -> None:
        check_one_of("kind", self.kind.data, ACCESSES)
        if (self.address is None) != (self.bytes is None):
            raise VerifyException("expected an address and a number of bytes, or neither")
        if self.each_warp is not None and self.address is None:
            raise VerifyException("expected each_warp for an address only")
        if (self.barrier is None) != (self.threads is None):
            raise VerifyException("expected a barrier and the number of threads that meet there, or neither")
        if self.threads is not None:
            check_group(self.threads)
