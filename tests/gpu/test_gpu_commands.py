"""irc-run and irc-bench on a GPU: tables with times, checks, per-kernel timing."""

from __future__ import annotations

from pathlib import Path

import pytest

from irc.driver.compiler import compile as compile_program
from irc.runtime.driver import is_present
from irc_tools import run
from irc_tools.bench import command
from irc_tools.bench.record import read_record
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
    times = executable.kernel_times(*make_arguments(executable.arguments, {}, 0), repetitions=3)
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


SUITE = """\
show = "bandwidth"
peers = ["eager"]

[[rows]]
name = "scale"
program = "func f(x: bf16[4096, 4096]) -> bf16[4096, 4096] {\\n    return x * 2\\n}"
torch = "return x * 2"
bars = ["0.50 of copy", "0.50 of read", "0.50 of eager"]

[[rows]]
name = "wrong"
program = "func f(x: f32[64]) -> f32[64] {\\n    return x * 2\\n}"
torch = "return x * 3"

[[rows]]
name = "call"
program = "func f(x: f32[64], y: f32[64]) -> f32[64] {\\n    return x + y\\n}"
torch = "return x + y"
clock = "host"
peers = []
bars = ["<= 11 us beyond launches", "<= 5 us for bound"]
"""


def test_the_benchmark_checks_and_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    (tmp_path / "suite.toml").write_text(SUITE)
    options = ["--suite", str(tmp_path / "suite.toml"), "--quick", "--json", str(tmp_path / "r.json")]
    assert command.main([*options, "--peers", "all"]) == 1, "the second row is wrong by torch"
    scale, wrong, call = read_record(tmp_path / "r.json").rows
    assert set(scale.times) == {"irc", "copy", "read", "eager"}
    verdicts = scale.verdicts()
    assert len(verdicts) == 3
    assert all(spread is not None and spread.median > 0 for _, spread in verdicts), "how fast is not for a shared GPU"
    assert wrong.error.startswith("wrong: result 0: error")
    assert not wrong.times
    assert set(call.times) == {"irc", "launches", "bound"}
    assert all(spread is not None for _, spread in call.verdicts())
    assert command.main([*options, "--filter", "wrong"]) == 0, (
        "the interpreter is the reference where torch is not used"
    )
