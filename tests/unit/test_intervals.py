"""Between which numbers the integers of a kernel lie: all that they can be, and nothing where that is not known."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.ir import SSAValue

from irc.analysis.intervals import Intervals
from irc.dialects.cuda import KernelOp
from irc.driver.program import parse

KERNEL = """
cuda.kernel @f(%n: i32) grid [{grid}] block 384 {domains}{{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c100 = arith.constant 100 : index
  %minus = arith.constant -5 : index
  %huge = arith.constant 2147483647 : index
  %t = cuda.thread_id
  %b = cuda.block_id {{axis = 1 : i64}}
  %group = arith.shrui %t, %c7 : index
  %uniform = cuda.warp_uniform %group : index
  %small = arith.shrui %t, %c3 : index
  %lane = cuda.warp_uniform %small : index
  %is_first = arith.cmpi slt, %uniform, %c1 : index
  %is_low = arith.cmpi ult, %small, %c3 : index
  %is_small = arith.cmpi slt, %lane, %c1 : index
  %size = arith.index_cast %n : i32 to index
  {text}
  cuda.return
}}
"""


def intervals_of(text: str, grid: str = "4, 16, 1", domains: str = "") -> list[tuple[int, int] | None]:
    """Of the operands of the ops `test.op`."""
    module = parse(KERNEL.format(text=text, grid=grid, domains=domains), "f.mlir")
    (kernel,) = (op for op in module.ops if isinstance(op, KernelOp))
    found: list[SSAValue] = [value for op in kernel.walk() if isinstance(op, test.TestOp) for value in op.operands]
    intervals = Intervals(kernel)
    return [intervals.of(value) for value in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("arith.addi %t, %b", (0, 398)),
        ("arith.subi %b, %t", (-383, 15)),
        ("arith.muli %t, %minus", (-1915, 0)),
        ("arith.muli %t, %huge", None),  # may wrap
        ("arith.shli %t, %c3", (0, 3064)),
        ("arith.shrui %t, %c3", (0, 47)),
        ("arith.shrui %minus, %c3", None),  # of a number below zero: a great one
        ("arith.shrsi %minus, %c3", (-1, -1)),
        ("arith.andi %minus, %c7", (0, 7)),
        ("arith.andi %size, %c7", (0, 7)),
        ("arith.divui %t, %c7", (0, 54)),
        ("arith.floordivsi %minus, %c3", (-2, -2)),
        ("arith.remui %t, %c100", (0, 99)),
        ("arith.minsi %t, %c100", (0, 100)),
        ("arith.maxsi %t, %c100", (100, 383)),
        ("arith.minsi %t, %size", None),
        ("arith.addi %t, %size", None),
    ],
)
def test_operations(expression: str, expected: tuple[int, int] | None) -> None:
    assert intervals_of(f'%x = {expression} : index "test.op"(%x) : (index) -> ()') == [expected]


def test_a_rest_is_less_than_what_divides() -> None:
    text = """
    %q = arith.shrui %t, %c3 : index
    %p = arith.shli %q, %c3 : index
    %r = arith.subi %t, %p : index
    %d = arith.divui %t, %c100 : index
    %e = arith.muli %d, %c100 : index
    %s = arith.subi %t, %e : index
    %other = arith.subi %b, %e : index
    "test.op"(%r, %s, %other) : (index, index, index) -> ()
    """
    assert intervals_of(text) == [(0, 7), (0, 99), (-300, 15)]


def test_steps_of_loops() -> None:
    text = """
    scf.for %i = %b to %c100 step %c7 { "test.op"(%i) : (index) -> () }
    scf.for %i = %c0 to %size step %c7 { "test.op"(%i) : (index) -> () }
    %last = scf.for %i = %c0 to %c7 step %c1 iter_args(%k = %c0) -> (index) {
      %next = arith.addi %k, %t : index
      "test.op"(%next) : (index) -> ()
      scf.yield %next : index
    }
    "test.op"(%last) : (index) -> ()
    """
    assert intervals_of(text) == [(0, 99), None, None, None]


def test_threads_of_a_branch() -> None:
    """Where one lane decides for its warp, threads of the warp are on the wrong side of the number: nothing is known."""
    text = """
    %far = arith.subi %t, %c100 : index
    scf.if %is_first {
      %x = arith.subi %t, %c100 : index
      scf.if %is_low {
        %y = arith.subi %t, %c100 : index
        "test.op"(%x, %y) : (index, index) -> ()
      }
    } else {
      scf.if %is_small {
        %x = arith.subi %t, %c100 : index
        "test.op"(%x) : (index) -> ()
      } else {
        %x = arith.subi %t, %c100 : index
        scf.if %is_low {
          %y = arith.subi %t, %c100 : index
          "test.op"(%x, %y) : (index, index) -> ()
        }
      }
    }
    "test.op"(%far) : (index) -> ()
    """
    assert intervals_of(text) == [(-100, 27), (-100, -77), (28, 283), (28, 283), None, (-100, 283)]


def test_blocks_of_run_time_extents() -> None:
    text = '"test.op"(%b) : (index) -> ()'
    assert intervals_of(text) == [(0, 15)]
    assert intervals_of(text, domains='operands [0] writes [0] dims ["N"] domains [[1, 0, 2084, 64]] ') == [None]
