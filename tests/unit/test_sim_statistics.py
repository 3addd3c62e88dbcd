"""What the simulator counts, against `irc/layout/requests.py` and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st
from sim_kernels import counted, kernel_of

from irc.dialects.cuda import SyncOp
from irc.interpreters.sim import Counters
from irc.layout.requests import fewest_wavefronts, sectors, wavefronts

WIDTHS = (1, 2, 4, 8, 16)


@st.composite
def requests(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Addresses of two warps, and the bytes of each lane: strided, or anywhere."""
    width = draw(st.sampled_from(WIDTHS))
    if draw(st.booleans()):
        stride = width * draw(st.integers(0, 40))
        addresses = width * draw(st.integers(0, 20)) + stride * np.arange(64)
    else:
        addresses = width * np.array(draw(st.lists(st.integers(0, 300), min_size=64, max_size=64)))
    return addresses.astype(np.int64), width


@given(requests())
@examples(150)
def test_whole_warps(request: tuple[np.ndarray, int]) -> None:
    addresses, width = request
    op, counters = SyncOp(), Counters()
    counters.shared_access(op, np.arange(64), addresses, width)
    counters.global_access(op, np.arange(64), addresses, width)
    found = counters.of(op)
    rows = addresses.reshape(2, 32)
    assert found.requests == 4
    assert found.wavefronts == wavefronts(rows, width).sum()
    assert found.ideal_wavefronts == fewest_wavefronts(rows, width).sum()
    assert found.sectors == sectors(rows, width).sum()
    assert found.ideal_sectors == sum(-(-len(set(row)) * width // 32) for row in rows.tolist())


@given(requests(), st.sets(st.integers(0, 63), min_size=1))
@examples(60)
def test_some_lanes(request: tuple[np.ndarray, int], some: set[int]) -> None:
    """Lanes that are not there need nothing: as many as if they did what another lane of their phase does."""
    addresses, width = request
    lanes = np.array(sorted(some))
    op, counters = SyncOp(), Counters()
    counters.global_access(op, lanes, addresses[lanes], width)
    by_warp = [{int(a) // 32 for a in addresses[lanes[lanes // 32 == warp]]} for warp in (0, 1)]
    assert counters.of(op).sectors == sum(map(len, by_warp))
    assert counters.of(op).requests == len(set((lanes // 32).tolist()))


@pytest.mark.parametrize(("stride", "sectors_of"), [(1, 4), (2, 8), (8, 32)])
def test_strided_loads(stride: int, sectors_of: int) -> None:
    body = f"""
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %stride = arith.constant {stride} : index
  %at = arith.muli %t, %stride : index
  %r = cuda.registers : !cuda.registers<1 x i32>
  cuda.load %x[%at] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<1 x i32>"""
    found = counted(kernel_of(body, "%x: !cuda.ptr<i32>", block=32), np.zeros(256, np.int32))["cuda.load"]
    assert (found.requests, found.sectors, found.ideal_sectors) == (1, sectors_of, 4)


def test_instructions_are_counted_by_warp() -> None:
    """A branch that one of two warps takes, and a loop of three rounds in it."""
    body = """
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %some = arith.constant 40 : index
  %taken = arith.cmpi sge, %t, %some : index
  scf.if %taken {
    scf.for %i = %zero to %three step %one {
      cuda.fence "block"
    }
  }
  cuda.sync"""
    found = counted(kernel_of(body, "%x: !cuda.ptr<i32>", grid=5), np.zeros(1, np.int32))
    assert (found["cuda.fence"].instructions, found["cuda.sync"].instructions) == (5 * 3, 5 * 2)
