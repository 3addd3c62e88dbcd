"""irc-run and irc-bench on a GPU: tables with times, checks, per-kernel timing."""

from __future__ import annotations

from pathlib import Path

import pytest

from irc.compiler import compile as compile_program
from irc.runtime.driver import is_present
from irc.runtime.profile import kernel_times
from irc_tools import bench, run
from irc_tools.inputs import make_arguments

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

PROGRAM = """\
dim M = 512, N = 384
func main(x: bf16[M, N], w: bf16[N, M]) -> (bf16[M, M], f32[]) {
    y = relu(x @ w)
    return y, sum(cast(softmax(x), f32))
}
"""


def test_every_kernel_is_timed() -> None:
    executable = compile_program(PROGRAM, "cuda")
    times = kernel_times(executable, make_arguments(executable.arguments, {}, 0), repetitions=3)
    assert set(times) == {kernel["name"] for kernel in executable.kernels}
    assert all(0 < seconds < 0.1 for seconds in times.values())


def test_a_run_shows_kernels_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.irc"
    path.write_text(PROGRAM)
    assert run.main([str(path), "--check"]) == 0, "cuda is the default target where there is a GPU"
    out = capsys.readouterr().out
    assert "main on cuda" in out
    assert "FLOP/s" in out
    assert out.count(" ok") == 2


def test_the_benchmark_measures() -> None:
    row = bench.measure("small", bench.matmul("bf16", 1024, 1024, 1024), 3)
    assert row.kernels >= 1
    assert row.unit == "FLOP"
    assert row.rate > 1e12
