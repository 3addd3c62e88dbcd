"""Printing of a kernel's place, register arrays, shuffles, and accesses to global and shared memory.

A slice of a register array starts at a multiple of its access, or of four bytes: accesses move words.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.codegen.prelude_core import access_name
from irc.codegen.prelude_tensor_core import matrix_name
from irc.codegen.printer import STORAGE, KernelPrinter, prints
from irc.dialects import cuda
from irc.dialects.cuda.common import ACCESS_BYTES
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.ir.properties import constant_of


def element(p: KernelPrinter, array: SSAValue, index: SSAValue) -> str:
    """An element of a register array or of memory."""
    return f"{p.value(array)}[{p.value(index)}]"


def slice_of(p: KernelPrinter, array: SSAValue, index: SSAValue) -> str:
    """A pointer to the elements from an index on."""
    return p.value(array) if constant_of(index) == 0 else f"&{element(p, array, index)}"


def address(p: KernelPrinter, op: cuda.LoadOp | cuda.LoadOrOp | cuda.StoreOp | cuda.AtomicOp) -> str:
    """A pointer to the element of memory that the op accesses."""
    if op.rest is None:
        return slice_of(p, op.pointer, op.offset)
    return f"{p.value(op.pointer)} + {p.value(op.offset)} + {p.value(op.rest)}"


def _size(array: SSAValue, count: int) -> int:
    assert isinstance(array.type, cuda.RegistersType)
    return count * cuda.size_of(array.type.element)


def _cache(op: GlobalLoadOp | cuda.StoreOp) -> str:
    return "" if op.cache is None else op.cache.data


@prints(cuda.ReturnOp)
def end(p: KernelPrinter, op: cuda.ReturnOp) -> None:
    """A kernel ends where its text does."""


@prints(cuda.ClusterRankOp)
def cluster_rank(p: KernelPrinter, op: cuda.ClusterRankOp) -> None:
    if p.kernel.cluster is None:
        p.define(op.result, "0")
        return
    p.use("cluster_rank")
    p.define(op.result, "cluster_rank()")


_SHUFFLES = {"xor": "__shfl_xor_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "index": "__shfl_sync"}


@prints(cuda.ShuffleOp)
def shuffle(p: KernelPrinter, op: cuda.ShuffleOp) -> None:
    """The intrinsics take 4 and 8 bytes; narrower values travel in an int."""
    function, lane, type = _SHUFFLES[op.mode.data], p.value(op.lane), p.type(op.value.type)
    value = p.value(op.value)
    if type in STORAGE:
        storage = "unsigned char" if cuda.size_of(op.value.type) == 1 else "unsigned short"
        p.define(op.result, f"{type}{{({storage}){function}(0xffffffffu, (int){value}.bits, {lane})}}")
        return
    if cuda.size_of(op.value.type) < 4:
        p.define(op.result, f"({type}){function}(0xffffffffu, (int){value}, {lane})")
        return
    p.define(op.result, f"{function}(0xffffffffu, {value}, {lane})")


@prints(cuda.RegistersOp)
def registers(p: KernelPrinter, op: cuda.RegistersOp) -> None:
    assert isinstance(op.result.type, cuda.RegistersType)
    name = p.fresh(op.result.name_hint or "r")
    # Copies of words need four bytes of alignment, whatever the element.
    align = max(4, op.align.value.data)
    p.line(f"alignas({align}) {p.type(op.result.type.element)} {name}[{op.result.type.count}];")
    p.name(op.result, name)


@prints(cuda.GetOp)
def get(p: KernelPrinter, op: cuda.GetOp) -> None:
    p.define(op.result, element(p, op.array, op.index))


@prints(cuda.SetOp)
def set_element(p: KernelPrinter, op: cuda.SetOp) -> None:
    p.line(f"{element(p, op.array, op.index)} = {p.value(op.value)};")


@prints(cuda.LoadOp)
def load(p: KernelPrinter, op: cuda.LoadOp) -> None:
    count = op.count.value.data
    if count == 1 and op.cache is None:
        p.line(f"{element(p, op.array, op.index)} = *({address(p, op)});")
        return
    p.call(access_name("load", _size(op.array, count), _cache(op)), slice_of(p, op.array, op.index), address(p, op))


@prints(cuda.LoadOrOp)
def load_or(p: KernelPrinter, op: cuda.LoadOrOp) -> None:
    name = access_name("load_or", _size(op.array, op.count.value.data), _cache(op))
    p.call(name, slice_of(p, op.array, op.index), address(p, op), op.condition, op.other)


@prints(cuda.LoadAcrossOp)
def load_across(p: KernelPrinter, op: cuda.LoadAcrossOp) -> None:
    name = access_name("load_across", 0, _cache(op))
    p.use(name)
    size, element_bytes = op.size, _size(op.array, 1)
    whole, left = (-1, 0) if size is None else divmod(size.value.data * element_bytes, max(ACCESS_BYTES))
    target, type = slice_of(p, op.array, op.index), p.type(op.offset.type)
    place = f"{p.value(op.pointer)}, ({type}){p.value(op.offset)}, ({type}){whole}"
    p.line(f"{name}<{element_bytes}, {left}>({target}, {place});")


@prints(cuda.StoreOp)
def store(p: KernelPrinter, op: cuda.StoreOp) -> None:
    count = op.count.value.data
    if count == 1 and op.cache is None:
        p.line(f"*({address(p, op)}) = {element(p, op.array, op.index)};")
        return
    p.call(access_name("store", _size(op.array, count), _cache(op)), address(p, op), slice_of(p, op.array, op.index))


@prints(cuda.SharedLoadOp)
def shared_load(p: KernelPrinter, op: cuda.SharedLoadOp) -> None:
    name = access_name("shared_load", _size(op.array, op.count.value.data))
    p.call(name, slice_of(p, op.array, op.index), op.address)


@prints(cuda.SharedStoreOp)
def shared_store(p: KernelPrinter, op: cuda.SharedStoreOp) -> None:
    name = access_name("shared_store", _size(op.array, op.count.value.data))
    p.call(name, op.address, slice_of(p, op.array, op.index))


@prints(cuda.CpAsyncOp)
def cp_async(p: KernelPrinter, op: cuda.CpAsyncOp) -> None:
    predicate = () if op.predicate is None else (op.predicate,)
    p.call(f"cp_async_{op.bytes.value.data}", op.address, slice_of(p, op.pointer, op.offset), *predicate)


@prints(cuda.LdmatrixOp, cuda.StmatrixOp)
def matrices(p: KernelPrinter, op: cuda.LdmatrixOp | cuda.StmatrixOp) -> None:
    name = matrix_name(op.name.removeprefix("cuda."), op.count.value.data, bool(op.transpose.value.data))
    registers = slice_of(p, op.array, op.index)
    p.call(name, *((registers, op.address) if isinstance(op, cuda.LdmatrixOp) else (op.address, registers)))


_ATOMICS = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "exchange": "atomicExch"}


@prints(cuda.AtomicOp)
def atomic(p: KernelPrinter, op: cuda.AtomicOp) -> None:
    function, type = _ATOMICS[op.kind.data], p.type(op.result.type)
    place, value = address(p, op), p.value(op.value)
    if type == "long long" and op.kind.data in ("add", "exchange"):
        word = "unsigned long long"
        p.define(op.result, f"(long long){function}(({word}*)({place}), ({word}){value})")
        return
    p.define(op.result, f"{function}({place}, {value})")


@prints(cuda.AwaitOp)
def await_word(p: KernelPrinter, op: cuda.AwaitOp) -> None:
    p.call("await_word", slice_of(p, op.pointer, op.offset), op.value)
