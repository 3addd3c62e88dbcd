"""The target sim: host plans, results, statistics, and the command."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irc
from irc.driver.program import new_context
from irc.interpreters.sim import SimulationError
from irc.ir.parser import parse_ir
from irc.runtime.artifact import ArraySpec
from irc.runtime.sim import SimProgram
from irc_tools import run as irc_run

SOFTMAX = """\
func rows(x: f32[8, 64]) -> f32[8, 64] {
    return softmax(x, axis=-1)
}
"""

ARGUMENTS = (ArraySpec("x", (64,), "i32"),)
RESULTS = (ArraySpec("0", (64,), "i32"),)

KERNEL = """
cuda.kernel @copy(%from: !cuda.ptr<i32>, %to: !cuda.ptr<i32>) grid [1, 1, 1] block COUNT {
  %t = cuda.thread_id
  %zero = arith.constant 0 : index
  %r = cuda.registers : !cuda.registers<1 x i32>
  cuda.load %from[%t] -> %r[%zero] : !cuda.ptr<i32> -> !cuda.registers<1 x i32>
  cuda.store %r[%zero], %to[%t] : !cuda.registers<1 x i32> -> !cuda.ptr<i32>
  cuda.return
}
"""


def program(steps: str, count: int = 64) -> SimProgram:
    """A plan from x to y, with an arena of two arrays `a` and `b`, and a kernel that copies `count` elements."""
    text = f"""
host.plan @f(%x, %y) : (tensor<64xi32>) -> tensor<64xi32> {{
  %arena = host.arena : !host.buffer<512>
  %a = host.buffer %arena {{offset = 0 : i64}} : !host.buffer<512> -> !host.buffer<256>
  %b = host.buffer %arena {{offset = 256 : i64}} : !host.buffer<512> -> !host.buffer<256>
  {steps}
  host.return
}}
{KERNEL.replace("COUNT", str(count))}"""
    module = parse_ir(new_context(), text, "plan")
    return SimProgram(module, ARGUMENTS, RESULTS)


def launch(source: str, target: str) -> str:
    return f"host.launch @copy({source}, {target}) : (!host.buffer<256>, !host.buffer<256>)\n"


X = np.arange(64, dtype=np.int32)


def test_a_plan_goes_through_the_arena() -> None:
    copy = "host.copy %a -> %b : !host.buffer<256> -> !host.buffer<256>\n"
    (found,) = program(launch("%x", "%a") + copy + launch("%b", "%y")).run([X], None)
    np.testing.assert_array_equal(found, X)


def test_a_memset_is_a_write() -> None:
    memset = "host.memset %b {value = 1 : i64} : !host.buffer<256>\n"
    (found,) = program(memset + launch("%b", "%y")).run([X], None)
    assert (found == 0x01010101).all()


@pytest.mark.parametrize("copy", ["", "host.copy %a -> %b : !host.buffer<256> -> !host.buffer<256>\n"])
def test_a_read_of_an_arena_that_nothing_wrote(copy: str) -> None:
    """A copy of nothing is nothing."""
    with pytest.raises(SimulationError, match="workspace, which nothing has written") as caught:
        program(copy + launch("%b", "%y")).run([X], None)
    assert caught.value.kind == "uninitialized"


def test_a_result_that_is_not_written_whole() -> None:
    with pytest.raises(
        SimulationError, match="32 elements of result 0, from element 32 on, were not written"
    ) as caught:
        program(launch("%x", "%y"), count=32).run([X], None)
    assert caught.value.kind == "unwritten"


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(irc.IrcError, match=r"expected i32\[64\], found i32\[63\]"):
        program(launch("%x", "%y")).run([X[1:]], None)
    with pytest.raises(irc.IrcError, match="the sim target has no streams"):
        program(launch("%x", "%y")).run([X], 0)


def test_the_caller_keeps_its_arrays() -> None:
    x = X.copy()
    simulated = program(launch("%x", "%y"))
    (found,) = simulated.run([x], None)
    found[...] = 7
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(simulated.run([x], None)[0], X)


SIDE_BY_SIDE = """
func f(
    donate p: f32[500], donate q: f32[500], r: f32[500], a: bf16[16, 64], b: bf16[16, 64], w: bf16[64, 64]
) -> (f32[500], f32[500], f32[500], bf16[16, 64], bf16[16, 64], bf16[16, 64], bf16[16, 64], bf16[16, 64]) {
    c = relu(a @ w)
    d = relu(b @ w)
    e = relu(c @ w)
    return p * 0.5, q * 0.5, r * 0.5, c, d, e, relu(e @ w), relu(d @ w)
}
"""


def test_launches_of_several_sets() -> None:
    """Through pointers and tensor maps, in place, and a launch of one set of a kernel that has several."""
    executable = irc.compile(SIDE_BY_SIDE, target="sim")
    assert [(kernel["launches"], kernel["sets"]) for kernel in executable.kernels] == [(3, 5), (1, 3)]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(500).astype(np.float32) for _ in range(3)]
    arrays += [(0.2 * rng.standard_normal((n, 64))).astype(ml_dtypes.bfloat16) for n in (16, 16, 64)]
    for found, wanted in zip(executable(*arrays), irc.compile(SIDE_BY_SIDE, target="interpret")(*arrays), strict=True):
        np.testing.assert_allclose(found.astype(np.float32), wanted.astype(np.float32), rtol=0.02, atol=0.02)


def test_statistics_are_data() -> None:
    executable = irc.compile(SOFTMAX, target="sim")
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    (kernel,) = executable.statistics(x)
    assert (kernel.name, kernel.launches) == ("rows_0", 1)
    # 2 KiB are read and written once, in sectors of 32 bytes.
    assert kernel.sectors("cuda.load") == kernel.sectors("cuda.store") == kernel.ideal_sectors("cuda.load") == 64
    assert kernel.instructions == sum(op.instructions for op in kernel.ops) > 100
    assert all(op.location.startswith("<string>:") for op in kernel.ops)
    (manifest,) = executable.kernels
    assert manifest["anchor"] == "reduce"
    assert manifest["registers"] is None


def test_other_targets_count_nothing() -> None:
    executable = irc.compile(SOFTMAX, target="interpret")
    with pytest.raises(irc.IrcError, match="the interpret target counts nothing"):
        executable.statistics(np.zeros((8, 64), np.float32))


def test_the_command_counts_on_the_simulator_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "softmax.irc"
    path.write_text(SOFTMAX)
    assert irc_run.main([str(path), "--target", "cpu", "--stats"]) == 1
    out, error = capsys.readouterr()
    assert not out and "--stats: the target cpu counts nothing" in error


def test_the_command_prints_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "softmax.irc"
    path.write_text(SOFTMAX)
    assert irc_run.main([str(path), "--target", "sim", "--check", "--stats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("rows on sim: compiled in") for line in lines)
    (load,) = [line.split() for line in lines if " cuda.load " in line]
    assert load[0] == "rows_0"
    assert load[-2:] == ["64", "64"]


def test_architectures_have_kernels_of_their_own() -> None:
    text = "func f(a: f16[64, 64], b: f16[64, 64]) -> f32[64, 64] {\n    return matmul(a, b, dtype=f32)\n}"
    a = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float16)
    for arch, op in (("sm_80", "cuda.mma"), ("sm_90a", "cuda.wgmma")):
        executable = irc.compile(text, target="sim", arch=arch)
        np.testing.assert_allclose(executable(a, a), a.astype(np.float32) @ a.astype(np.float32), atol=1e-3)
        assert any(entry.op == op for entry in executable.statistics(a, a)[0].ops)
