"""Printing of a kernel's place, register arrays, and accesses to global and shared memory.

A slice of a register array starts at a multiple of its access, or of four bytes: accesses move words.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.codegen.prelude_core import access_name
from irc.codegen.prelude_tensor_core import matrix_name
from irc.codegen.printer import KernelPrinter, prints
from irc.dialects.cuda import (
    AssumeOp,
    AtomicOp,
    BlockIdOp,
    ClusterRankOp,
    GetOp,
    GridSizeOp,
    LdmatrixOp,
    LoadAcrossOp,
    LoadOp,
    LoadOrOp,
    RegistersOp,
    RegistersType,
    ReturnOp,
    SetOp,
    SharedLoadAcrossOp,
    SharedLoadOp,
    SharedOp,
    SharedStoreOp,
    StmatrixOp,
    StoreOp,
    ThreadIdOp,
    WarpUniformOp,
    size_of,
)
from irc.dialects.cuda.common import ACCESS_BYTES, constant_of

_AXES = "xyz"


def element(p: KernelPrinter, array: SSAValue, index: SSAValue) -> str:
    """An element of a register array or of memory."""
    return f"{p.value(array)}[{p.value(index)}]"


def slice_of(p: KernelPrinter, array: SSAValue, index: SSAValue) -> str:
    """A pointer to the elements from an index on."""
    return p.value(array) if constant_of(index) == 0 else f"&{element(p, array, index)}"


def address(p: KernelPrinter, op: LoadOp | LoadOrOp | StoreOp | AtomicOp) -> str:
    """A pointer to the element of memory that the op accesses."""
    if op.rest is None:
        return slice_of(p, op.pointer, op.offset)
    return f"{p.value(op.pointer)} + {p.value(op.offset)} + {p.value(op.rest)}"


def _size(array: SSAValue, count: int) -> int:
    assert isinstance(array.type, RegistersType)
    return count * size_of(array.type.element)


@prints(ReturnOp)
def end(p: KernelPrinter, op: ReturnOp) -> None:
    """A kernel ends where its text does."""


@prints(ThreadIdOp)
def thread_id(p: KernelPrinter, op: ThreadIdOp) -> None:
    p.define(op.result, f"({p.type(op.result.type)})threadIdx.x")


@prints(BlockIdOp)
def block_id(p: KernelPrinter, op: BlockIdOp) -> None:
    p.define(op.result, f"({p.type(op.result.type)})blockIdx.{_AXES[op.axis.value.data]}")


@prints(GridSizeOp)
def grid_size(p: KernelPrinter, op: GridSizeOp) -> None:
    p.define(op.result, f"({p.type(op.result.type)})gridDim.{_AXES[op.axis.value.data]}")


@prints(ClusterRankOp)
def cluster_rank(p: KernelPrinter, op: ClusterRankOp) -> None:
    if p.kernel.cluster is None:
        p.define(op.result, "0")
        return
    p.use("cluster_rank")
    p.define(op.result, "cluster_rank()")


@prints(WarpUniformOp)
def warp_uniform(p: KernelPrinter, op: WarpUniformOp) -> None:
    p.define(op.result, f"__shfl_sync(0xffffffffu, {p.value(op.value)}, 0)")


@prints(RegistersOp)
def registers(p: KernelPrinter, op: RegistersOp) -> None:
    assert isinstance(op.result.type, RegistersType)
    name = p.fresh(op.result.name_hint or "r")
    # Copies of words need four bytes of alignment, whatever the element.
    align = max(4, op.align.value.data)
    p.line(f"alignas({align}) {p.type(op.result.type.element)} {name}[{op.result.type.count}];")
    p.name(op.result, name)


@prints(GetOp)
def get(p: KernelPrinter, op: GetOp) -> None:
    p.define(op.result, element(p, op.array, op.index))


@prints(SetOp)
def set_element(p: KernelPrinter, op: SetOp) -> None:
    p.line(f"{element(p, op.array, op.index)} = {p.value(op.value)};")


@prints(AssumeOp)
def assume(p: KernelPrinter, op: AssumeOp) -> None:
    p.line(f"__builtin_assume({p.value(op.condition)});")


@prints(SharedOp)
def shared(p: KernelPrinter, op: SharedOp) -> None:
    p.define(op.result, f"(int)(shared_base + {op.offset.value.data})")


@prints(LoadOp)
def load(p: KernelPrinter, op: LoadOp) -> None:
    count = op.count.value.data
    if count == 1 and op.cache is None:
        p.line(f"{element(p, op.array, op.index)} = *({address(p, op)});")
        return
    name = access_name("load", _size(op.array, count), "" if op.cache is None else op.cache.data)
    p.use(name)
    p.line(f"{name}({slice_of(p, op.array, op.index)}, {address(p, op)});")


@prints(LoadOrOp)
def load_or(p: KernelPrinter, op: LoadOrOp) -> None:
    size = _size(op.array, op.count.value.data)
    name = access_name("load_or", size, "" if op.cache is None else op.cache.data)
    p.use(name)
    target, condition = slice_of(p, op.array, op.index), p.value(op.condition)
    p.line(f"{name}({target}, {address(p, op)}, {condition}, {p.value(op.other)});")


@prints(LoadAcrossOp)
def load_across(p: KernelPrinter, op: LoadAcrossOp) -> None:
    name = access_name("load_across", 0, "" if op.cache is None else op.cache.data)
    p.use(name)
    size, element_bytes = op.size, _size(op.array, 1)
    whole, left = (-1, 0) if size is None else divmod(size.value.data * element_bytes, max(ACCESS_BYTES))
    target, type = slice_of(p, op.array, op.index), p.type(op.offset.type)
    place = f"{p.value(op.pointer)}, ({type}){p.value(op.offset)}, ({type}){whole}"
    p.line(f"{name}<{element_bytes}, {left}>({target}, {place});")


@prints(StoreOp)
def store(p: KernelPrinter, op: StoreOp) -> None:
    count = op.count.value.data
    if count == 1 and op.cache is None:
        p.line(f"*({address(p, op)}) = {element(p, op.array, op.index)};")
        return
    name = access_name("store", _size(op.array, count), "" if op.cache is None else op.cache.data)
    p.use(name)
    p.line(f"{name}({address(p, op)}, {slice_of(p, op.array, op.index)});")


@prints(SharedLoadOp)
def shared_load(p: KernelPrinter, op: SharedLoadOp) -> None:
    name = access_name("shared_load", _size(op.array, op.count.value.data))
    p.use(name)
    p.line(f"{name}({slice_of(p, op.array, op.index)}, {p.value(op.address)});")


@prints(SharedLoadAcrossOp)
def shared_load_across(p: KernelPrinter, op: SharedLoadAcrossOp) -> None:
    p.use("shared_load_across")
    target, size = slice_of(p, op.array, op.index), _size(op.array, 1)
    p.line(f"shared_load_across<{size}>({target}, {p.value(op.low)}, {p.value(op.high)}, (int){p.value(op.skip)});")


@prints(SharedStoreOp)
def shared_store(p: KernelPrinter, op: SharedStoreOp) -> None:
    name = access_name("shared_store", _size(op.array, op.count.value.data))
    p.use(name)
    p.line(f"{name}({p.value(op.address)}, {slice_of(p, op.array, op.index)});")


@prints(LdmatrixOp)
def ldmatrix(p: KernelPrinter, op: LdmatrixOp) -> None:
    name = matrix_name("ldmatrix", op.count.value.data, bool(op.transpose.value.data))
    p.use(name)
    p.line(f"{name}({slice_of(p, op.array, op.index)}, {p.value(op.address)});")


@prints(StmatrixOp)
def stmatrix(p: KernelPrinter, op: StmatrixOp) -> None:
    name = matrix_name("stmatrix", op.count.value.data, bool(op.transpose.value.data))
    p.use(name)
    p.line(f"{name}({p.value(op.address)}, {slice_of(p, op.array, op.index)});")


_ATOMICS = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "exchange": "atomicExch"}


@prints(AtomicOp)
def atomic(p: KernelPrinter, op: AtomicOp) -> None:
    function, type = _ATOMICS[op.kind.data], p.type(op.result.type)
    place, value = address(p, op), p.value(op.value)
    if type == "long long" and op.kind.data in ("add", "exchange"):
        word = "unsigned long long"
        p.define(op.result, f"(long long){function}(({word}*)({place}), ({word}){value})")
        return
    p.define(op.result, f"{function}({place}, {value})")
