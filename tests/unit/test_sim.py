"""The simulator on small kernels: what they compute, and each kind of mistake, planted and found."""

from __future__ import annotations

import numpy as np
from sim_kernels import counted, fails, kernel_of, run

POINTER = "%x: !cuda.ptr<i32>"
BOTH = "%x: !cuda.ptr<i32>, %y: !cuda.ptr<i32>"
X = np.arange(64, dtype=np.int32)
"""One element a thread."""

START = """
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = cuda.registers : !cuda.registers<4 x i32>
  %base = cuda.shared {offset = 0 : i64}
  %ti = arith.index_cast %t : index to i32
  %four = arith.constant 4 : i32
  %bytes = arith.muli %ti, %four : i32
  %own = arith.addi %base, %bytes : i32
"""
"""Names of a thread's number, of a register array, and of its own word of shared memory."""

REVERSED = """
  %last = arith.constant 252 : i32
  %back = arith.subi %last, %bytes : i32
  %other = arith.addi %base, %back : i32
"""
"""The word of the thread as far from the end."""


def shared(body: str, *, block: int = 64, grid: int = 1, arguments: str = BOTH):
    """A kernel of START and a body, with 256 bytes of shared memory."""
    return kernel_of(START + body, arguments, block=block, grid=grid, clauses="shared 256")


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


def test_an_exchange_without_a_barrier_is_a_race() -> None:
    error = fails(shared(EXCHANGE.replace("SYNC", "")), X, 256)
    assert error.kind == "race"
    # The message names both ops, and the error is at the second.
    assert "cuda.shared_load reads byte 252, which thread 63 has written" in error.message
    assert "cuda.shared_store at test:" in error.message


def test_a_barrier_of_the_warp_orders_no_other_warp() -> None:
    assert fails(shared(EXCHANGE.replace("SYNC", "cuda.warp_sync")), X, 256).kind == "race"


def test_shared_memory_that_nothing_wrote() -> None:
    body = "  cuda.shared_load %own -> %r[%zero] : !cuda.registers<4 x i32>"
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "uninitialised"
    assert "block 0, threads 0-63" in error.message


def test_a_load_past_the_end() -> None:
    body = """
  %next = arith.addi %t, %one : index
  cuda.load %x[%next] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "out of bounds"
    assert "cuda.load of element 64 of 64 (block 0, thread 63)" in error.message


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
