"""Loads, stores and atomics: checked, counted, and made."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.interpreters.sim.frame import SHARED_BASE, of_active
from irc.interpreters.sim.memory import Array, Pointer, RegisterArray
from irc.interpreters.sim.register_use import register_index
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Routine, Strand, Waiting


def global_byte_offsets(
    s: Strand, op: Operation, pointer: Pointer, offset: Any, size: int, lanes: Array | None = None
) -> Array:
    """The byte in the pointer's memory of each active lane's access of `size` bytes at an offset in elements (or of
    the values for `lanes`); misaligned ones and those outside of the launch's buffer are errors."""
    span, item = pointer.span, pointer.dtype.itemsize
    offsets = (s.spread(offset) if lanes is None else offset).astype(np.int64) * item
    wrong = (offsets < 0) | (offsets > span.size - size)
    if wrong.any():
        at = int(offsets[wrong][0]) // item
        count = size // item
        what = f"element {at}" if count == 1 else f"elements {at} to {at + count - 1}"
        s.fail("out of bounds", op, f"{op.name} of {what} of {span.size // item}", of_active(s, lanes, wrong))
    byte_offsets = offsets + span.start
    wrong = byte_offsets % size != 0
    if wrong.any():
        at = int(offsets[wrong][0]) // item
        s.fail(
            "misaligned",
            op,
            f"{op.name} of {size} bytes at element {at}, whose address is no multiple of {size}",
            of_active(s, lanes, wrong),
        )
    return byte_offsets


def _whole(offset: Any, rest: Any) -> Any:
    """An offset, with the rest of it added in 64 bits where there is one."""
    return offset if rest is None else np.add(offset, rest, dtype=np.int64)


def check_global_read(
    s: Strand, op: Operation, pointer: Pointer, byte_offsets: Array, size: int, lanes: Array | None = None
) -> None:
    """Errors of reading `size` bytes at offsets of a pointer's memory: nothing was written there, or a race."""
    memory = pointer.span.memory
    if memory.written is not None:
        missing = ~memory.is_written(byte_offsets // size, size)
        if missing.any():
            at = (int(byte_offsets[missing][0]) - pointer.span.start) // pointer.dtype.itemsize
            s.fail(
                "uninitialized",
                op,
                f"{op.name} of element {at} of {memory.name}, which nothing has written",
                of_active(s, lanes, missing),
            )
    if pointer.tracked:
        numbers = s.numbers if lanes is None else lanes
        s.frame.grid.shadow(memory).read(s, op, numbers, byte_offsets, size)


def note_global_write(
    s: Strand, op: Operation, pointer: Pointer, byte_offsets: Array, size: int, values: Array
) -> None:
    """Errors of writing, and that it was written. `values` has a row for each access."""
    memory = pointer.span.memory
    rows = np.ascontiguousarray(values).view(np.uint8)
    s.frame.grid.shadow(memory).write(s, op, s.numbers, byte_offsets, size, values=rows)
    memory.mark(byte_offsets // size, size)


def _check_read_only(s: Strand, op: GlobalLoadOp, pointer: Pointer) -> None:
    if pointer.tracked and op.is_read_only:
        s.fail("protocol", op, f"the kernel writes {pointer.span.memory.name}, which this load takes for read only")


@simulates(cuda.LoadOp)
def load(
    s: Strand, op: cuda.LoadOp, pointer: Pointer, array: RegisterArray, index: Any, offset: Any, rest: Any = None
) -> None:
    count = op.count.value.data
    size = count * pointer.dtype.itemsize
    byte_offsets = global_byte_offsets(s, op, pointer, _whole(offset, rest), size)
    _check_read_only(s, op, pointer)
    check_global_read(s, op, pointer, byte_offsets, size)
    if s.frame.counters is not None:
        s.frame.counters.global_access(op, s.numbers, byte_offsets, size)
    rows = pointer.span.memory.table(pointer.dtype, count)
    array.put(register_index(s, op, array, index, count), rows[byte_offsets // size], s.lanes)


@simulates(cuda.LoadOrOp)
def load_or(
    s: Strand,
    op: cuda.LoadOrOp,
    condition: Any,
    other: Any,
    pointer: Pointer,
    array: RegisterArray,
    index: Any,
    offset: Any,
    rest: Any = None,
) -> None:
    count, there = op.elements, s.spread(condition).astype(bool)
    size, lanes = count * pointer.dtype.itemsize, s.numbers[there]
    values = np.repeat(s.spread(other)[:, None], count, axis=1).astype(array.data.dtype)
    byte_offsets = global_byte_offsets(s, op, pointer, s.spread(_whole(offset, rest))[there], size, lanes)
    _check_read_only(s, op, pointer)
    check_global_read(s, op, pointer, byte_offsets, size, lanes)
    if s.frame.counters is not None and len(lanes):
        s.frame.counters.global_access(op, lanes, byte_offsets, size)
    values[there] = pointer.span.memory.table(pointer.dtype, count)[byte_offsets // size]
    array.put(register_index(s, op, array, index, count), values, s.lanes)


@simulates(cuda.LoadAcrossOp)
def load_across(
    s: Strand, op: cuda.LoadAcrossOp, pointer: Pointer, array: RegisterArray, index: Any, offset: Any
) -> None:
    count, item, memory = op.elements, pointer.dtype.itemsize, pointer.span.memory
    word = count * item
    _check_read_only(s, op, pointer)
    if pointer.span.start % word:
        s.fail("misaligned", op, f"{op.name} behind a pointer that is no multiple of {word} bytes")
    first = s.spread(offset).astype(np.int64)
    low = first // count * count
    at = low[:, None] + np.arange(2 * count)
    size = pointer.span.size // item if op.size is None else op.size.value.data
    there = np.ones(at.shape, bool) if op.size is None else (at >= 0) & (at < size)
    lanes = np.broadcast_to(s.numbers[:, None], at.shape)
    found = np.zeros(at.shape, array.data.dtype)
    byte_offsets = global_byte_offsets(s, op, pointer, at[there], item, lanes[there])
    check_global_read(s, op, pointer, byte_offsets, item, lanes[there])
    found[there] = memory.table(pointer.dtype, 1)[byte_offsets // item, 0]
    if s.frame.counters is not None:
        for begin in (0, count):
            some = there[:, begin]
            s.frame.counters.global_access(op, s.numbers[some], at[some, begin] * item + pointer.span.start, word)
    values = np.take_along_axis(found, (first - low)[:, None] + np.arange(count), axis=1)
    array.put(register_index(s, op, array, index, count), values, s.lanes)


@simulates(cuda.StoreOp)
def store(
    s: Strand, op: cuda.StoreOp, array: RegisterArray, index: Any, pointer: Pointer, offset: Any, rest: Any = None
) -> None:
    count = op.count.value.data
    size = count * pointer.dtype.itemsize
    byte_offsets = global_byte_offsets(s, op, pointer, _whole(offset, rest), size)
    values = array.columns(register_index(s, op, array, index, count), count, s.lanes)
    note_global_write(s, op, pointer, byte_offsets, size, values)
    if s.frame.counters is not None:
        s.frame.counters.global_access(op, s.numbers, byte_offsets, size)
    pointer.span.memory.table(pointer.dtype, count)[byte_offsets // size] = values


@simulates(cuda.SharedOp)
def shared(s: Strand, op: cuda.SharedOp) -> Any:
    return np.int32(SHARED_BASE + op.offset.value.data)


@simulates(cuda.SharedLoadOp)
def shared_load(s: Strand, op: cuda.SharedLoadOp, address: Any, array: RegisterArray, index: Any) -> None:
    count, dtype = op.count.value.data, array.data.dtype
    size = count * dtype.itemsize
    byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address), size)
    read_shared(s, op, byte_offsets, size)
    rows = s.frame.shared.table(dtype, count)
    array.put(register_index(s, op, array, index, count), rows[byte_offsets // size], s.lanes)


@simulates(cuda.SharedStoreOp)
def shared_store(s: Strand, op: cuda.SharedStoreOp, address: Any, array: RegisterArray, index: Any) -> None:
    count, dtype = op.count.value.data, array.data.dtype
    size = count * dtype.itemsize
    byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address), size)
    values = array.columns(register_index(s, op, array, index, count), count, s.lanes)
    write_shared(s, op, byte_offsets, size, values)
    s.frame.shared.table(dtype, count)[byte_offsets // size] = values


def read_shared(
    s: Strand, op: Operation, byte_offsets: Array, size: int, lanes: Array | None = None, keys: Array | None = None
) -> None:
    """Check and count a read of `size` bytes (1 to 16) by each active lane, or by `lanes`, at bytes of the frame's
    shared memory (`Frame.shared_byte_offsets`). `keys` (`Clocks.async_key`) are what it leaves where an asynchronous
    agent reads on behalf of the lanes."""
    frame = s.frame
    missing = ~frame.shared.is_written(byte_offsets // size, size)
    if missing.any():
        at = int(byte_offsets[missing][0]) % frame.shared_pitch
        s.fail(
            "uninitialized",
            op,
            f"{op.name} of byte {at} of shared memory, which nothing has written",
            of_active(s, lanes, missing),
        )
    numbers = s.numbers if lanes is None else lanes
    frame.shared_shadow.read(s, op, numbers, byte_offsets, size, keys)
    if frame.counters is not None and keys is None:
        frame.counters.shared_access(op, numbers, byte_offsets, size)


def write_shared(
    s: Strand,
    op: Operation,
    byte_offsets: Array,
    size: int,
    values: Array | None,
    lanes: Array | None = None,
    keys: Array | None = None,
) -> None:
    """The same of a write; `values` has a row for each access. The bytes count as written; moving them is the
    caller's."""
    frame = s.frame
    numbers = s.numbers if lanes is None else lanes
    rows = None if values is None else np.ascontiguousarray(values).view(np.uint8)
    frame.shared_shadow.write(s, op, numbers, byte_offsets, size, keys, rows)
    frame.shared.mark(byte_offsets // size, size)
    if frame.counters is not None and keys is None:
        frame.counters.shared_access(op, numbers, byte_offsets, size)


_ATOMICS = {"add": np.add, "min": np.minimum, "max": np.maximum, "exchange": lambda old, new: new}


@simulates(cuda.AtomicOp)
def atomic(s: Strand, op: cuda.AtomicOp, value: Any, pointer: Pointer, offset: Any, rest: Any = None) -> Any:
    """One lane after the other, in their order."""
    size = pointer.dtype.itemsize
    byte_offsets = global_byte_offsets(s, op, pointer, _whole(offset, rest), size)
    memory, lanes = pointer.span.memory, s.numbers
    missing = ~memory.is_written(byte_offsets // size, size)
    if missing.any():
        s.fail("uninitialized", op, f"{op.name} of a word of {memory.name} that nothing has written", missing)
    if s.frame.counters is not None:
        s.frame.counters.global_access(op, lanes, byte_offsets, size)
    words = memory.table(pointer.dtype, 1)[:, 0]
    update, values = _ATOMICS[op.kind.data], s.spread(value)
    result = np.zeros(s.frame.lane_count, pointer.dtype)
    for lane, byte_offset, new in zip(lanes.tolist(), byte_offsets.tolist(), values, strict=True):
        row = byte_offset // size
        result[lane] = words[row]
        words[row] = update(words[row], new)
        s.frame.order.publish((id(memory), byte_offset), lane)
    return result


@simulates(cuda.AwaitOp)
def await_word(s: Strand, op: cuda.AwaitOp, pointer: Pointer, offset: Any, value: Any) -> Routine:
    """The lanes go on together, when each has found its value."""
    size, memory, lanes = pointer.dtype.itemsize, pointer.span.memory, s.numbers
    byte_offsets, wanted = global_byte_offsets(s, op, pointer, offset, size), s.spread(value)
    missing = ~memory.is_written(byte_offsets // size, size)
    if missing.any():
        s.fail("uninitialized", op, f"{op.name} of a word of {memory.name} that nothing has written", missing)
    words = memory.table(pointer.dtype, 1)[:, 0]

    def is_there() -> bool:
        return bool((words[byte_offsets // size] == wanted).all())

    if not is_there():
        yield Waiting(s, op, f"waits for {memory.name} to be {wanted.tolist()[0]}", is_there)
    if s.frame.counters is not None:
        s.frame.counters.global_access(op, lanes, byte_offsets, size)
    for lane, byte_offset in zip(lanes.tolist(), byte_offsets.tolist(), strict=True):
        s.frame.order.publish((id(memory), byte_offset), lane)
