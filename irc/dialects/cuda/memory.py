"""Accesses to global and shared memory by one thread, matrix loads and stores of a warp, atomics.

Offsets into global memory are in elements, of type `index`; shared addresses are `i32` bytes. An access of `count`
elements is one instruction, whose address has to be a multiple of its size.

An offset is added to its pointer in 64 bits, whatever the bits of an `index`. `%x[%offset + %rest]` are two such
additions: no sum of both is made before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParamAttrConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import (
    ACCESS_BYTES,
    FALSE,
    GLOBAL,
    SHARED,
    AccessOp,
    check_one_of,
    check_registers,
    element_of,
)
from irc.dialects.cuda.spelling import cpp
from irc.dialects.cuda.types import PtrType, RegistersType, size_of
from irc.ir.operations import EffectOp, PureOp
from irc.ir.properties import number

CACHES = ("streaming", "read_only", "evict_last", "global")
"""`ld.global.cs` and `st.global.cs`, `ld.global.nc`, the same with the priority `evict_last` in the L2, `ld.global.cg`
(PTX ISA, 9.7.9.1 cache operators, 9.7.9.2 cache eviction priority hints)."""

STORE_CACHES = ("streaming", "write_back")
"""`st.global.cs`, and `st.global.wb`, which is what a store is without an operator; but one instruction, which the
compiler never takes apart, and loads after it stay behind it."""

READ_ONLY = ("read_only", "evict_last")
"""Those of memory that nothing writes during the kernel."""

ATOMICS = ("add", "min", "max", "exchange")


@cpp("(int)(shared_base + {offset})")
class SharedOp(PureOp):
    """The address of a byte of the block's dynamic shared memory. `align` is the alignment in bytes that its base has
    to have."""

    name = "cuda.shared"
    offset = prop_def(IntegerAttr)
    align = prop_def(IntegerAttr, default_value=number(16))
    result = result_def(i32)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        align = self.align.value.data
        if align not in (16, 32, 64, 128, 256, 512, 1024):
            raise VerifyException(f"expected an alignment of 16 to 1024 bytes, found {align}")
        if self.offset.value.data < 0:
            raise VerifyException(f"expected an offset into shared memory, found {self.offset.value.data}")


class GlobalLoadOp(AccessOp):
    """A load from global memory into registers."""

    pointer = operand_def(PtrType)
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    offset = operand_def(IndexType)
    rest = opt_operand_def(IndexType)
    cache = opt_prop_def(StringAttr)
    assembly_format = (
        "$pointer `[` $offset (`+` $rest^)? `]` `->` $array `[` $index `]` attr-dict"
        " `:` type($pointer) `->` type($array)"
    )

    @property
    def elements(self) -> int:
        """How many are loaded."""
        raise NotImplementedError

    @property
    def accesses(self) -> Mapping[str, int]:
        return {GLOBAL: self.elements * size_of(element_of(self.array))}

    @property
    def caches(self) -> tuple[str, ...]:
        """What `cache` may be."""
        return CACHES

    @property
    def is_read_only(self) -> bool:
        """Whether it takes for granted that nothing writes the memory during the kernel."""
        return self.cache is not None and self.cache.data in READ_ONLY

    def verify_(self) -> None:
        _check_access(self.name, self.array, self.index, number(self.elements))
        _check_pointer(self.pointer, self.array)
        if self.cache is not None:
            check_one_of("cache", self.cache.data, self.caches)


@irdl_op_definition
class LoadOp(GlobalLoadOp):
    """`count` elements of global memory into registers. `cache`: streaming, read_only (nothing writes it during the
    kernel), kept (the same, and it leaves the L2 after what is not kept), global."""

    name = "cuda.load"
    count = prop_def(IntegerAttr, default_value=number(1))

    @property
    def elements(self) -> int:
        return self.count.value.data


@irdl_op_definition
class LoadOrOp(GlobalLoadOp):
    """`count` elements of global memory into registers where a condition holds, else `other` for each of them: whole
    words are chosen. In two branches the compiler chooses element by element."""

    name = "cuda.load_or"
    condition = operand_def(i1)
    other = operand_def()
    count = prop_def(IntegerAttr, default_value=number(1))
    assembly_format = (
        "$pointer `[` $offset (`+` $rest^)? `]` `if` $condition `else` $other `->` $array `[` $index `]` attr-dict"
        " `:` type($pointer) `,` type($other) `->` type($array)"
    )

    @property
    def elements(self) -> int:
        return self.count.value.data

    def verify_(self) -> None:
        super().verify_()
        if self.other.type != element_of(self.array):
            raise VerifyException(f"cuda.load_or: expected {element_of(self.array)}, found {self.other.type}")


@irdl_op_definition
class LoadAcrossOp(GlobalLoadOp):
    """16 bytes of elements of global memory that begin anywhere, from the two words of 16 bytes that they are in. The
    pointer is a multiple of 16 bytes, and has `size` elements behind it; without `size`, all of both words are there.
    Other elements are 0 (no word of theirs is there) or anything. `cache`: read_only, kept."""

    name = "cuda.load_across"
    size = opt_prop_def(IntegerAttr)

    @property
    def elements(self) -> int:
        return max(ACCESS_BYTES) // size_of(element_of(self.array))

    @property
    def accesses(self) -> Mapping[str, int]:
        """It begins at any element."""
        return {GLOBAL: size_of(element_of(self.array))}

    @property
    def caches(self) -> tuple[str, ...]:
        return READ_ONLY

    def verify_(self) -> None:
        super().verify_()
        if self.rest is not None:
            raise VerifyException("cuda.load_across: expected one offset, found two")


@irdl_op_definition
class StoreOp(AccessOp):
    """`count` elements of registers into global memory. `cache`: streaming, write_back."""

    name = "cuda.store"
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    pointer = operand_def(PtrType)
    offset = operand_def(IndexType)
    rest = opt_operand_def(IndexType)
    count = prop_def(IntegerAttr, default_value=number(1))
    cache = opt_prop_def(StringAttr)
    assembly_format = (
        "$array `[` $index `]` `,` $pointer `[` $offset (`+` $rest^)? `]` attr-dict"
        " `:` type($array) `->` type($pointer)"
    )

    @property
    def accesses(self) -> Mapping[str, int]:
        return {GLOBAL: self.count.value.data * size_of(element_of(self.array))}

    def verify_(self) -> None:
        _check_access("cuda.store", self.array, self.index, self.count)
        _check_pointer(self.pointer, self.array)
        if self.cache is not None:
            check_one_of("cache", self.cache.data, STORE_CACHES)


class SharedAccessOp(AccessOp):
    """An access of `count` elements of shared memory."""

    address = operand_def(i32)
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    count = prop_def(IntegerAttr, default_value=number(1))

    @property
    def accesses(self) -> Mapping[str, int]:
        return {SHARED: self.count.value.data * size_of(element_of(self.array))}

    def verify_(self) -> None:
        _check_access(self.name, self.array, self.index, self.count)


@irdl_op_definition
class SharedLoadOp(SharedAccessOp):
    """`count` elements of shared memory into registers."""

    name = "cuda.shared_load"
    assembly_format = "$address `->` $array `[` $index `]` attr-dict `:` type($array)"


@irdl_op_definition
class SharedStoreOp(SharedAccessOp):
    """`count` elements of registers into shared memory."""

    name = "cuda.shared_store"
    assembly_format = "$array `[` $index `]` `,` $address attr-dict `:` type($array)"


class MatrixOp(EffectOp):
    """`count` 8x8 matrices of 16-bit elements between a warp's registers and shared memory, 2 elements of each to a
    thread.

    Lane 8 q + r gives the address of row r, 16 bytes, of matrix q; thread t holds elements 2 (t % 4) and the next of
    row t / 4, or, with `transpose`, of column t / 4.
    """

    address = operand_def(i32)
    array = operand_def(RegistersType)
    index = operand_def(IndexType)
    count = prop_def(IntegerAttr, default_value=number(4))
    transpose = prop_def(BoolAttr, default_value=FALSE)

    def verify_(self) -> None:
        check_one_of("count", self.count.value.data, (1, 2, 4))
        size = size_of(element_of(self.array))
        if size > 4:
            raise VerifyException(f"{self.name}: expected elements of 4 bytes at most, found {element_of(self.array)}")
        check_registers(self.name, self.array, self.index, 4 * self.count.value.data // size)


@irdl_op_definition
class LdmatrixOp(MatrixOp):
    """Load matrices (PTX ISA, 9.7.14.5.15 ldmatrix). Fills 2 * count elements of 16 bits, or as many bytes of another
    type."""

    name = "cuda.ldmatrix"
    assembly_format = "$address `->` $array `[` $index `]` attr-dict `:` type($array)"


@irdl_op_definition
class StmatrixOp(MatrixOp):
    """Store matrices; sm_90 and later (PTX ISA, 9.7.14.5.16 stmatrix)."""

    name = "cuda.stmatrix"
    assembly_format = "$array `[` $index `]` `,` $address attr-dict `:` type($array)"


@irdl_op_definition
class AtomicOp(AccessOp):
    """Update one element of global memory atomically (relaxed, device scope) and give the element that was there.

    `add` takes i32, i64, f32, f64; `min`, `max` (signed) and `exchange` take i32 and i64.
    """

    name = "cuda.atomic"
    T: ClassVar = VarConstraint("T", AnyAttr())
    kind = prop_def(StringAttr)
    value = operand_def(T)
    pointer = operand_def(ParamAttrConstraint(PtrType, (T,)))
    offset = operand_def(IndexType)
    rest = opt_operand_def(IndexType)
    result = result_def(T)
    assembly_format = "$kind $value `,` $pointer `[` $offset (`+` $rest^)? `]` attr-dict `:` type($pointer)"

    @property
    def accesses(self) -> Mapping[str, int]:
        return {GLOBAL: size_of(self.value.type)}

    def verify_(self) -> None:
        check_one_of("kind", self.kind.data, ATOMICS)
        allowed = ("i32", "i64", "f32", "f64") if self.kind.data == "add" else ("i32", "i64")
        check_one_of(f"the type of atomic {self.kind.data}", str(self.value.type), allowed)


@irdl_op_definition
class AwaitOp(AccessOp):
    """Wait until a word of global memory has a value, by loads that acquire at the device's scope: what the thread that
    wrote it had fenced before is there afterwards (PTX ISA, 8. Memory Consistency Model)."""

    name = "cuda.await"
    T: ClassVar = VarConstraint("T", AnyAttr())
    pointer = operand_def(ParamAttrConstraint(PtrType, (T,)))
    offset = operand_def(IndexType)
    value = operand_def(T)
    assembly_format = "$pointer `[` $offset `]` `,` $value attr-dict `:` type($pointer)"

    @property
    def accesses(self) -> Mapping[str, int]:
        return {GLOBAL: size_of(self.value.type)}

    def verify_(self) -> None:
        check_one_of("the type of what is awaited", str(self.value.type), ("i32",))


def _check_access(what: str, array: SSAValue, index: SSAValue, count: IntegerAttr) -> None:
    number_of_elements = count.value.data
    check_one_of(f"{what}: bytes of one access", number_of_elements * size_of(element_of(array)), ACCESS_BYTES)
    check_registers(what, array, index, number_of_elements)


def _check_pointer(pointer: SSAValue, array: SSAValue) -> None:
    element = element_of(array)
    assert isinstance(pointer.type, PtrType)
    if pointer.type.element != element:
        raise VerifyException(f"expected a pointer to {element}, found {pointer.type}")
