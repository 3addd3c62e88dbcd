"""The simulator on small kernels: loops, branches and barriers that not all threads come to alike."""

from __future__ import annotations

import numpy as np
import pytest
from sim_kernels import POINTER, X, counted, fails, run, shared

from irc.interpreters.sim import control


def test_a_shuffle_in_a_branch_of_some_lanes() -> None:
    body = """
  %even = arith.constant 7 : index
  %some = arith.cmpi slt, %t, %even : index
  scf.if %some {
    %s = cuda.shuffle "xor" %ti, %four : i32
  }"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "divergence"
    assert "cuda.shuffle needs all lanes" in error.message


def test_the_first_lane_is_by_itself() -> None:
    body = """
  %bound = arith.constant 2 : index
  %some = arith.cmpi slt, %t, %bound : index
  scf.if %some {
    %s = cuda.first_lane %ti : i32
  }"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "divergence"
    assert "cuda.first_lane is for lane 0 of a warp alone" in error.message


def test_threads_at_different_barriers() -> None:
    body = """
  %half = arith.constant 32 : index
  %first = arith.cmpi slt, %t, %half : index
  scf.if %first {
    cuda.sync
  } else {
    cuda.sync
  }"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "divergence"
    assert "different barriers" in error.message


PINGPONG = """
  %half = arith.constant 32 : index
  %first = arith.cmpi slt, %t, %half : index
  %full = arith.constant 1 : i32
  %empty = arith.constant EMPTY : i32
  %rounds = arith.constant 3 : index
  %size = arith.constant 32 : index
  %half_bytes = arith.constant 128 : i32
  scf.if %first {
    scf.for %i = %zero to %rounds step %one {
      %start = arith.muli %i, %size : index
      %at = arith.addi %start, %t : index
      cuda.load %x[%at] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
      cuda.shared_store %r[%zero], %own : !cuda.registers<4 x i32>
      cuda.named_arrive %full {threads = 64 : i64}
      cuda.named_sync %empty {threads = 64 : i64}
    }
  } else {
    %mine = arith.subi %own, %half_bytes : i32
    scf.for %i = %zero to %rounds step %one {
      cuda.named_sync %full {threads = 64 : i64}
      cuda.shared_load %mine -> %r[%zero] : !cuda.registers<4 x i32>
      ARRIVE
      %start = arith.muli %i, %size : index
      %local = arith.subi %t, %size : index
      %at = arith.addi %start, %local : index
      cuda.store %r[%zero], %y[%at] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>
    }
  }"""
"""One warp hands rows to another through named barriers."""


def test_named_barriers_between_a_producer_and_a_consumer() -> None:
    x = np.arange(96, dtype=np.int32)
    arrive = "cuda.named_arrive %empty {threads = 64 : i64}"
    kernel = shared(PINGPONG.replace("EMPTY", "2").replace("ARRIVE", arrive))
    np.testing.assert_array_equal(run(kernel, x, 384)[1], x)


def test_a_consumer_that_never_says_that_it_is_done() -> None:
    error = fails(shared(PINGPONG.replace("EMPTY", "2").replace("ARRIVE", "")), np.arange(96, dtype=np.int32), 384)
    assert error.kind == "deadlock"
    assert "block 0, threads 0-31: waits at named barrier 2" in error.message
    assert "block 0, threads 32-63: waits at named barrier 1" in error.message


def test_a_producer_that_does_not_wait() -> None:
    body = (
        PINGPONG.replace("EMPTY", "2").replace("ARRIVE", "").replace("cuda.named_sync %empty {threads = 64 : i64}", "")
    )
    error = fails(shared(body), np.arange(96, dtype=np.int32), 384)
    assert error.kind == "protocol"
    assert "arrives twice on named barrier 1" in error.message


TURNS = """
  %half = arith.constant 32 : index
  %second = arith.cmpi sge, %t, %half : index
  %is_first = arith.cmpi slt, %t, %half : index
  %two = arith.constant 2 : i32
  scf.if %second {
    cuda.named_sync %two {threads = 64 : i64}
  }
  scf.if %is_first {
    cuda.named_arrive %two {threads = 64 : i64}
  }
  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""
"""The second warp waits for the first, which comes to a later branch: as one strand they would be stuck."""


def test_warps_that_wait_for_each_other_across_branches() -> None:
    run(shared(TURNS, arguments=POINTER), X)


LAST_BLOCK = """
  %b = cuda.block_id
  %size = arith.constant 64 : index
  %first = arith.muli %b, %size : index
  %at = arith.addi %first, %t : index
  %i1 = arith.constant 1 : i32
  %i2 = arith.constant 2 : i32
  cuda.load %x[%at] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
  cuda.store %r[%zero], %parts[%at] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>
  FENCE
  cuda.sync
  %leader = arith.cmpi eq, %t, %zero : index
  scf.if %leader {
    %count = cuda.atomic "add" %i1, %counter[%zero] : !cuda.ptr<i32>
    cuda.set %r[%one], %count : !cuda.registers<4 x i32>
    cuda.shared_store %r[%one], %base : !cuda.registers<4 x i32>
  }
  cuda.sync
  cuda.shared_load %base -> %r[%one] : !cuda.registers<4 x i32>
  %found = cuda.get %r[%one] : !cuda.registers<4 x i32>
  %last = arith.cmpi eq, %found, %i2 : i32
  scf.if %last {
    %sum = scf.for %i = %zero to %three step %one iter_args(%s = %i0) -> (i32) {
      %start = arith.muli %i, %size : index
      %from = arith.addi %start, %t : index
      cuda.load %parts[%from] -> %r[%zero] {cache = "global"} : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
      %part = cuda.get %r[%zero] : !cuda.registers<4 x i32>
      %more = arith.addi %s, %part : i32
      scf.yield %more : i32
    }
    cuda.set %r[%zero], %sum : !cuda.registers<4 x i32>
    cuda.store %r[%zero], %y[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>
  }"""
"""Three blocks; the one that comes last sums what all have stored."""

FOUR = "%x: !cuda.ptr<i32>, %parts: !cuda.ptr<i32>, %counter: !cuda.ptr<i32>, %y: !cuda.ptr<i32>"


def last_block(fence: str):
    constants = "  %i0 = arith.constant 0 : i32\n  %three = arith.constant 3 : index\n"
    return shared(constants + LAST_BLOCK.replace("FENCE", fence), grid=3, arguments=FOUR)


def test_the_last_block_reads_what_the_others_have_fenced() -> None:
    x = np.arange(192, dtype=np.int32)
    counter = np.zeros(1, np.int32)
    found = run(last_block('cuda.fence "device"'), x, 768, counter, 256)[3]
    np.testing.assert_array_equal(found, x.reshape(3, 64).sum(axis=0))


def test_the_last_block_without_a_fence_is_a_race() -> None:
    error = fails(last_block(""), np.arange(192, dtype=np.int32), 768, np.zeros(1, np.int32), 256)
    assert error.kind == "race"
    assert "cuda.load reads byte 0 of array 1, which thread 0 of block 0 has written" in error.message


def test_loops_whose_bounds_differ_between_lanes() -> None:
    body = """
  %sum = scf.for %i = %zero to %t step %one iter_args(%s = %four) -> (i32) {
    %ii = arith.index_cast %i : index to i32
    %more = arith.addi %s, %ii : i32
    scf.yield %more : i32
  }
  cuda.set %r[%zero], %sum : !cuda.registers<4 x i32>
  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""
    np.testing.assert_array_equal(run(shared(body, arguments=POINTER), X)[0], X * (X - 1) // 2 + 4)


def test_a_while_loop_leaves_each_lane_its_own_values() -> None:
    """Collatz steps of 1 to 64."""
    body = """
  %i1 = arith.constant 1 : i32
  %i2 = arith.constant 2 : i32
  %i3 = arith.constant 3 : i32
  %i0 = arith.constant 0 : i32
  %n = arith.addi %ti, %i1 : i32
  %a, %b = scf.while (%v = %n, %k = %i0) : (i32, i32) -> (i32, i32) {
    %go = arith.cmpi ne, %v, %i1 : i32
    scf.condition(%go) %v, %k : i32, i32
  } do {
  ^bb0(%v: i32, %k: i32):
    %low = arith.andi %v, %i1 : i32
    %odd = arith.cmpi eq, %low, %i1 : i32
    %triple = arith.muli %v, %i3 : i32
    %up = arith.addi %triple, %i1 : i32
    %down = arith.shrsi %v, %i1 : i32
    %next = arith.select %odd, %up, %down : i32
    %steps = arith.addi %k, %i1 : i32
    scf.yield %next, %steps : i32, i32
  }
  cuda.set %r[%zero], %b : !cuda.registers<4 x i32>
  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>"""

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    found = run(shared(body, arguments=POINTER), X)[0]
    assert found.tolist() == [steps(n) for n in range(1, 65)]


def test_a_loop_that_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_ROUNDS", 50)
    body = """
  %end = scf.while (%v = %four) : (i32) -> i32 {
    cuda.load %x[%zero] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<4 x i32>
    %found = cuda.get %r[%zero] : !cuda.registers<4 x i32>
    %go = arith.cmpi ne, %found, %four : i32
    scf.condition(%go) %v : i32
  } do {
  ^bb0(%v: i32):
    scf.yield %v : i32
  }"""
    error = fails(shared(body, arguments=POINTER), X)
    assert error.kind == "deadlock"
    assert "a loop goes on after 50 rounds" in error.message


def test_what_runs_again_by_warps_is_counted_once() -> None:
    found = counted(shared(TURNS, arguments=POINTER), X)
    assert found["cuda.named_sync"].instructions == found["cuda.named_arrive"].instructions == 1
    assert found["cuda.store"].instructions == 2


def test_blocks_of_part_of_a_warp() -> None:
    body = "  cuda.store %r[%zero], %x[%t] : !cuda.registers<4 x i32> -> !cuda.ptr<i32>\n  cuda.sync"
    body = "  cuda.set %r[%zero], %ti : !cuda.registers<4 x i32>\n" + body
    assert run(shared(body, arguments=POINTER, block=40), X[:40] * 0)[0].tolist() == list(range(40))
