"""Products: dots, and those in flight."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i8,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.types import AccumulatorType, BufferType, PendingType, element_type_of, shape_of, tile_type_of
from irc.ir.operations import BuiltOp, EffectOp, PureOp
from irc.layout.tcgen05 import ACCUMULATORS, ROWS


@irdl_op_definition
class DotOp(BuiltOp):
    """acc + a b, for a: M x K, b: K x N (tiles or buffers), acc and the result: M x N tiles.

    `instruction` names what computes it (`assign-layouts` decides), `atom` the shape of one `mma`. A dot whose result
    is a `!tile.pending` may still be in flight behind it; one on a pending accumulator goes on with it in place.
    `precision` is `default f32 tf32 bf16` for f32 operands; `unsigned` says that 8-bit integers have no sign. Operands
    are of one type, or both f8. Of `parts`, each warp has the products of one part of K: what it holds of the result
    is a part of the sums, until `tile.sum_warps` adds them.
    """

    name = "tile.dot"
    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def(BaseAttr(TensorType) | BaseAttr(PendingType))
    instruction = opt_prop_def(StringAttr)
    atom = opt_prop_def(StringAttr)
    precision = opt_prop_def(StringAttr)
    unsigned = opt_prop_def(UnitAttr)
    parts = opt_prop_def(IntegerAttr)
    result = result_def(BaseAttr(TensorType) | BaseAttr(PendingType))

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue, **named: Any):
        super().__init__(lhs, rhs, acc, result=tile_type_of(acc.type), **named)

    @property
    def mnk(self) -> tuple[int, int, int]:
        (m, k), (_, n) = shape_of(self.lhs.type), shape_of(self.rhs.type)
        return m, n, k

    def verify_(self) -> None:
        for value in (self.lhs, self.rhs):
            if not isinstance(value.type, TensorType | BufferType) or len(shape_of(value.type)) != 2:
                raise VerifyException(f"expected a 2-d tile or buffer, found {value.type}")
        m, n, k = self.mnk
        verify_same("operands of the same K:", k, shape_of(self.rhs.type)[0])
        verify_same("an accumulator of shape", (m, n), shape_of(self.acc.type))
        verify_same("a result of type", tile_type_of(self.acc.type), tile_type_of(self.result.type))
        types = [element_type_of(value.type) for value in (self.lhs, self.rhs)]
        if not all(isinstance(type, Float8E4M3FNType | Float8E5M2Type) for type in types):
            verify_same("operands of one type:", *types)
        if self.unsigned is not None:
            verify_same("integers of 8 bits where they are unsigned:", i8, types[0])


@irdl_op_definition
class SumWarpsOp(PureOp):
    """The sums of dots of `parts`, of which each warp holds a part: all warps get them, added in the order of the parts
    by way of shared memory."""

    name = "tile.sum_warps"
    source = operand_def(TensorType)
    parts = prop_def(IntegerAttr)
    result = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, parts: int, location: LocationAttr | None = None):
        super().__init__(source, parts, source.type, location)

    def verify_(self) -> None:
        verify_same("a result as the sums are:", self.source.type, self.result.type)
        if self.parts.value.data < 2:
            raise VerifyException(f"expected two parts or more, found {self.parts.value.data}")


@irdl_op_definition
class AccumulatorOp(BuiltOp):
    """Room for the sums of dots in Tensor Memory, and a barrier that says that they are complete, whose byte offset
    `plan-shared` gives. Of a partition, or of a whole program."""

    name = "tile.accumulator"
    offset = opt_prop_def(IntegerAttr)
    result = result_def(AccumulatorType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, tile: Attribute):
        super().__init__(result=AccumulatorType(tile))

    def verify_(self) -> None:
        assert isinstance(self.result.type, AccumulatorType)
        held = self.result.type.tile
        if len(shape_of(held)) != 2 or shape_of(held)[0] % ROWS:
            raise VerifyException(f"expected a multiple of {ROWS} rows in Tensor Memory, found {held}")
        if str(element_type_of(held)) not in ACCUMULATORS:
            found = element_type_of(held)
            raise VerifyException(f"expected sums of {' or '.join(ACCUMULATORS)} in Tensor Memory, found {found}")


@irdl_op_definition
class AsPendingOp(PureOp):
    """A tile as if a dot had given it: what a loop that keeps dots in flight begins with. `sums`: the accumulator that
    dots go on with, of an instruction whose sums are in Tensor Memory; the tile is zero."""

    name = "tile.as_pending"
    tile = operand_def(TensorType)
    sums = opt_operand_def(AccumulatorType)
    result = result_def(PendingType)

    assembly_format = "$tile (`in` $sums^)? attr-dict `:` type($tile) (`,` type($sums)^)? `->` type($result)"

    def __init__(self, tile: SSAValue, sums: SSAValue | None = None):
        super().__init__(tile, sums, PendingType(tile.type))

    def verify_(self) -> None:
        verify_same("a result of type", PendingType(self.tile.type), self.result.type)
        if self.sums is not None:
            verify_same("an accumulator of type", AccumulatorType(self.tile.type), self.sums.type)


@irdl_op_definition
class DotWaitOp(BuiltOp):
    """The accumulator when the dot that gives it is complete."""

    name = "tile.dot_wait"
    acc = operand_def(PendingType)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$acc attr-dict `:` type($acc) `->` type($result)"

    def __init__(self, acc: SSAValue, location: LocationAttr | None = None):
        super().__init__(acc, tile_type_of(acc.type), location)

    def verify_(self) -> None:
        verify_same("a result of type", tile_type_of(self.acc.type), self.result.type)


@irdl_op_definition
class AwaitOp(EffectOp):
    """Goes on when a dot is complete, and with it those issued before: what they read may be overwritten. Other dots
    may go on with its accumulator meanwhile."""

    name = "tile.await"
    dot = operand_def(PendingType)

    assembly_format = "$dot attr-dict `:` type($dot)"
