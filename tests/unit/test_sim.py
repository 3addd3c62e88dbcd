"""The simulator on small kernels: what they compute, and each kind of mistake in memory, planted and found."""

from __future__ import annotations

import numpy as np
import pytest
from sim_kernels import POINTER, START, X, counted, fails, kernel_of, run, shared

REVERSED = """
  %last = arith.constant 252 : i32
  %back = arith.subi %last, %bytes : i32
  %other = arith.addi %base, %back : i32
"""
"""The word of the thread as far from the end."""


EXCHANGE = (
    REVERSED
    + """
  cuda.load %x[%t] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
  cuda.shared_store %r[%zero], %own : !cuda.registers<4 x i32>
  SYNC
  cuda.shared_load %other -> %r[%one] : !cuda.registers<4 x i32>
  cuda.store %r[%one], %y[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>
"""
)


def test_an_exchange_through_shared_memory() -> None:
    kernel = shared(EXCHANGE.replace("SYNC", "cuda.sync"))
    np.testing.assert_array_equal(run(kernel, X, 256)[1], X[::-1])


def from_anywhere(dtype: type[np.generic], size: str):
    """Each of 16 threads loads 16 bytes of `x` from element 3 t + 1 on."""
    count, element = 16 // np.dtype(dtype).itemsize, f"i{8 * np.dtype(dtype).itemsize}"
    registers = f"!cuda.registers<{count} x {element}>"
    return kernel_of(
        f"""  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %count = arith.constant {count} : index
  %at = arith.muli %t, %count : index
  %apart = arith.muli %t, %three : index
  %first = arith.addi %apart, %one : index
  %r = cuda.registers : {registers}
  cuda.load_across %x[%first] -> %r[%zero] {{{size}}} : !cuda.ptr<{element}> -> {registers}
  cuda.store %r[%zero], %y[%at] {{count = {count}}} : {registers} -> !cuda.ptr<{element}>
""",
        f"%x: !cuda.ptr<{element}>, %y: !cuda.ptr<{element}>",
        block=16,
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_words_of_memory_from_anywhere(dtype: type[np.generic]) -> None:
    """What is beyond the end is 0."""
    count = 16 // np.dtype(dtype).itemsize
    x, y = np.arange(1, 45).astype(dtype), np.zeros(16 * count, dtype)
    known = np.concatenate([x, np.zeros(2 * count + 8, dtype)])
    wanted = [known[3 * t + 1 : 3 * t + 1 + count] for t in range(16)]
    np.testing.assert_array_equal(run(from_anywhere(dtype, "size = 44"), x, y)[1], np.concatenate(wanted))
    assert fails(from_anywhere(dtype, ""), x, y).kind == "out of bounds"


def test_an_exchange_without_a_barrier_is_a_race() -> None:
    error = fails(shared(EXCHANGE.replace("SYNC", "")), X, 256)
    assert error.kind == "race"
    # The message names both ops, and the error is at the second.
    assert "cuda.shared_load reads byte 252 of shared memory, which thread 63 has written" in error.message
    assert "cuda.shared_store at test:" in error.message


def test_a_barrier_of_the_warp_orders_no_other_warp() -> None:
    assert fails(shared(EXCHANGE.replace("SYNC", "cuda.warp_sync")), X, 256).kind == "race"


def test_shared_memory_that_nothing_wrote() -> None:
    body = "  cuda.shared_load %own -> %r[%zero] : !cuda.registers<4 x i32>"
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "uninitialized"
    assert "block 0, threads 0-63" in error.message


def test_a_load_past_the_end() -> None:
    body = """
  %next = arith.addi %t, %one : index
  cuda.load %x[%next] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "out of bounds"
    assert "cuda.load of element 64 of 64 (block 0, thread 63)" in error.message


def test_offsets_of_two_terms() -> None:
    """A thread takes its neighbor's element of 64, and the last one none."""
    body = """
  %last = arith.constant 63 : index
  %inside = arith.cmpi slt, %t, %last : index
  scf.if %inside {
    cuda.load %x[%t + %one] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
    cuda.store %r[%zero], %y[%one + %t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>
    %v = cuda.get %r[%zero] : !cuda.registers<4 x i32>
    %old = cuda.atomic "add" %v, %y[%t + %one] : !cuda.ptr<i32>
  }"""
    np.testing.assert_array_equal(run(shared(body), X, 256)[1][1:], 2 * X[1:])


def test_offsets_of_two_terms_past_the_end() -> None:
    """Beyond the bits of an index, too: terms are added to the pointer in 64 bits."""
    body = """
  %far = arith.constant 2147483584 : index
  cuda.load %x[%far + %far] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "out of bounds"
    assert "cuda.load of element 4294967168 of 64" in error.message


def test_a_vector_that_is_not_aligned() -> None:
    body = "  cuda.load %x[%t] -> %r[%zero] {count = 2 : i64} : !cuda.ptr<i32> -> !cuda.registers<4 x i32>"
    error = fails(shared(body, arguments=POINTER, block=32), X)
    assert error.kind == "misaligned"
    assert "of 8 bytes at element 1" in error.message


def test_a_barrier_in_a_branch_of_some_threads() -> None:
    body = """
  %half = arith.constant 32 : index
  %first = arith.cmpi slt, %t, %half : index
  scf.if %first {
    cuda.sync
  }"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "divergence"
    assert "block 0, threads 0-31" in error.message


def test_conflicts_of_a_column_and_of_a_row() -> None:
    body = """
  %stride = arith.constant STRIDE : i32
  %skewed = arith.muli %ti, %stride : i32
  %at = arith.addi %base, %skewed : i32
  %v = arith.constant 1 : i32
  cuda.set %r[%zero], %v : !cuda.registers<4 x i32>
  cuda.shared_store %r[%zero], %at : !cuda.registers<4 x i32>"""
    for stride, conflicts in ((4, 0), (8, 1), (128, 31), (132, 0)):
        kernel = kernel_of(START + body.replace("STRIDE", str(stride)), POINTER, block=32, clauses="shared 8192")
        entry = counted(kernel, X)["cuda.shared_store"]
        assert (entry.instructions, entry.ideal_wavefronts, entry.conflicts) == (1, 1, conflicts)


def test_a_load_that_a_later_store_of_another_thread_overtakes() -> None:
    """Reads have to come before the write that follows: here only the first barrier is there."""
    body = (
        REVERSED
        + """
  cuda.load %x[%t] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
  cuda.shared_store %r[%zero], %own : !cuda.registers<4 x i32>
  cuda.sync
  cuda.shared_load %other -> %r[%one] : !cuda.registers<4 x i32>
  SYNC
  cuda.shared_store %r[%one], %own : !cuda.registers<4 x i32>
"""
    )
    error = fails(shared(body.replace("SYNC", ""), arguments=POINTER), X)
    assert error.kind == "race"
    assert "cuda.shared_store writes byte 0 of shared memory, which thread 63 has read" in error.message
    run(shared(body.replace("SYNC", "cuda.sync"), arguments=POINTER), X)


NEIGHBOR = """
  %i31 = arith.constant 31 : i32
  %lane = arith.andi %ti, %i31 : i32
  %warp = arith.subi %ti, %lane : i32
  %swapped = arith.subi %i31, %lane : i32
  %with = arith.addi %warp, %swapped : i32
  %off = arith.muli %with, %four : i32
  %other = arith.addi %base, %off : i32
"""
"""The word of the lane as far from the end of the warp."""


def test_a_barrier_of_the_warp_orders_its_lanes() -> None:
    body = NEIGHBOR + EXCHANGE.removeprefix(REVERSED)
    found = run(shared(body.replace("SYNC", "cuda.warp_sync")), X, 256)[1]
    np.testing.assert_array_equal(found, np.concatenate([X[31::-1], X[:31:-1]]))
    assert fails(shared(body.replace("SYNC", "")), X, 256).kind == "race"


def test_a_shuffle_orders_no_memory() -> None:
    shuffled = '%s = cuda.shuffle "xor" %ti, %four : i32'
    body = NEIGHBOR + EXCHANGE.removeprefix(REVERSED).replace("SYNC", shuffled)
    assert fails(shared(body), X, 256).kind == "race"


def test_lanes_that_write_different_values_to_one_place() -> None:
    body = """
  cuda.set %r[%zero], VALUE : !cuda.registers<4 x i32>
  cuda.shared_store %r[%zero], %base : !cuda.registers<4 x i32>"""
    error = fails(shared(body.replace("VALUE", "%ti"), arguments=POINTER), X)
    assert error.kind == "race"
    assert "different values to one place" in error.message
    run(shared(body.replace("VALUE", "%four"), arguments=POINTER), X)


def test_blocks_that_write_one_place() -> None:
    body = """
  %b = cuda.block_id
  %bi = arith.index_cast %b : index to i32
  cuda.set %r[%zero], VALUE : !cuda.registers<4 x i32>
  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""
    error = fails(shared(body.replace("VALUE", "%bi"), arguments=POINTER, grid=3), X)
    assert error.kind == "race"
    run(shared(body.replace("VALUE", "%ti"), arguments=POINTER, grid=3), X)


def test_blocks_in_different_frames_race_too() -> None:
    """More blocks than run at a time: each reads what its neighbor writes."""
    body = """
  %b = cuda.block_id
  %size = arith.constant 64 : index
  %first = arith.muli %b, %size : index
  %at = arith.addi %first, %t : index
  %count = arith.constant 6336 : index
  %shifted = arith.addi %at, %size : index
  %from = arith.remsi %shifted, %count : index
  cuda.load %x[%from] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
  cuda.set %r[%one], %ti : !cuda.registers<4 x i32>
  cuda.store %r[%one], %x[%at] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""
    error = fails(shared(body, arguments=POINTER, grid=99), np.arange(6336, dtype=np.int32))
    assert error.kind == "race"
    assert "cuda.store writes" in error.message


def test_workspace_that_nothing_wrote() -> None:
    body = "  cuda.load %x[%t] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>"
    error = fails(shared(body, arguments=POINTER), 256)
    assert error.kind == "uninitialized"
    assert "element 0 of array 0" in error.message


@pytest.mark.parametrize("cache", ["read_only", "evict_last"])
def test_a_read_only_load_of_what_the_kernel_writes(cache: str) -> None:
    body = f"""
  cuda.load %x[%t] -> %r[%zero] {{cache = "{cache}"}} : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""
    assert fails(shared(body, arguments=POINTER), X).kind == "protocol"


def test_shared_memory_past_its_end() -> None:
    body = """
  %i16 = arith.constant 16 : i32
  %far = arith.muli %ti, %i16 : i32
  %at = arith.addi %base, %far : i32
  cuda.shared_store %r[%zero], %at {count = 4 : i64} : !cuda.registers<4 x i32>"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "out of bounds"
    assert "of 16 bytes at byte 256 of 256 bytes" in error.message
