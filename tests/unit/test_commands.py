"""irc-compile and irc-run, in process: files, tables, checks, and one diagnostic for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from drawing import long

from irc_tools import compile as irc_compile
from irc_tools import run as irc_run

PROGRAM = """\
dim M = 6, N = 4
func helper(x: f32[M, N]) -> f32[M, N] {
    return relu(x) + 1
}
func main(x: f32[M, N], w: bf16[N], i: i32[M], flag: bool[M]) -> (f32[M, N], bf16[N], i32[M]) {
    y = helper(x) * cast(w, f32)
    return y, w + 1, where(flag, i, i + 1)
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "program.irc"
    path.write_text(PROGRAM)
    return str(path)


def _run(*arguments: str) -> int:
    return irc_run.main([*arguments, "--target", "cpu"])


def _diagnostic(status: int, capsys: pytest.CaptureFixture[str]) -> str:
    """The diagnostic of a command that must have failed with one."""
    assert status == 1
    err = capsys.readouterr().err
    assert err.count("error: ") == 1
    assert "Traceback" not in err
    assert "internal error" not in err
    return err


def test_a_run_shows_sizes_and_times(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(program) == 0
    out = capsys.readouterr().out
    assert "main on cpu: compiled in" in out
    assert "x: f32[6, 4]" in out
    assert "1: bf16[4]" in out
    assert "96 B" in out


def test_a_run_checks_its_results(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(program, "--check", "--seed", "3") == 0
    out = capsys.readouterr().out
    assert "check against float64" in out
    assert out.count(" ok") == 3


def test_a_failed_check_exits_1(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = irc_run._measure

    def wrong(*arguments: object) -> irc_run.Measured:
        measured = measure(*arguments)  # pyright: ignore[reportArgumentType]
        measured.results[0][1, 2] += 0.5
        return measured

    monkeypatch.setattr(irc_run, "_measure", wrong)
    assert _run(program, "--check") == 1
    captured = capsys.readouterr()
    assert "at [1, 2]" in captured.out
    assert captured.err == "error: check failed for result 0\n"


def test_nan_in_the_arguments_reaches_the_check(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.full((6, 4), np.nan, np.float32)
    x[0, 0] = np.inf
    np.save(tmp_path / "x.npy", x)
    assert _run(program, "--check", "--input", f"x={tmp_path / 'x.npy'}") == 0
    assert "the reference has" in capsys.readouterr().out


def test_results_are_written_as_numpy_files(program: str, tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(6, 4) - 12
    w = np.array([1, 2, 1 + 2**-9, 4], np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    inputs = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"w={tmp_path / 'w.npy'}"]
    assert _run(program, *inputs, "--output", str(tmp_path / "out")) == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["0.npy", "1.npy", "2.npy"]
    rounded = w.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "0.npy"), (np.maximum(x, 0) + 1) * rounded)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "1.npy"), rounded + 1)
    assert np.load(tmp_path / "out" / "2.npy").dtype == np.int32


def test_dims_and_functions_are_chosen(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(program, "-D", "M=3", "-D", "N=0", "--func", "helper", "--check") == 0
    out = capsys.readouterr().out
    assert "helper on cpu" in out
    assert "x: f32[3, 0]" in out


def test_bad_input_to_a_run_is_one_diagnostic(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 6), np.float32))
    x = tmp_path / "x.npy"
    assert "expected f32[6, 4], found float32[4, 6]" in _diagnostic(_run(program, "--input", f"x={x}"), capsys)
    assert "no argument of that name" in _diagnostic(_run(program, "--input", f"q={x}"), capsys)
    assert "expected NAME=FILE.npy" in _diagnostic(_run(program, "--input", "x"), capsys)
    assert "No such file" in _diagnostic(_run(program, "--input", "x=/nowhere.npy"), capsys)
    assert "expected NAME=INT" in _diagnostic(_run(program, "-D", "M=two"), capsys)
    assert "Q" in _diagnostic(_run(program, "-D", "Q=2"), capsys)
    assert "M" in _diagnostic(_run(program, "-D", "M=-2"), capsys)
    assert "none" in _diagnostic(_run(program, "--func", "none"), capsys)
    assert "cannot read" in _diagnostic(_run(str(tmp_path / "absent.irc")), capsys)
    assert "sm_12" in _diagnostic(_run(program, "--arch", "sm_12"), capsys)
    assert "not negative" in _diagnostic(_run(program, "--seed", "-1"), capsys)
    assert "cannot write" in _diagnostic(_run(program, "--output", str(x)), capsys)
    assert "invalid choice" in _diagnostic(irc_run.main([program, "--target", "tpu"]), capsys)


def test_a_program_error_quotes_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.irc"
    path.write_text("func f(x: f32[4], y: bf16[4]) -> f32[4] {\n    return x + y\n}\n")
    err = _diagnostic(_run(str(path)), capsys)
    assert err.startswith(f"{path}:2:")
    assert "\n    return x + y\n" in err
    assert "^" in err


def test_a_gpu_asked_for_where_there_is_none(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    from irc.runtime.driver import is_present

    if is_present():
        pytest.skip("there is a GPU")
    assert "GPU" in _diagnostic(irc_run.main([program, "--target", "cuda"]), capsys)


def test_compiling_writes_every_level(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert irc_compile.main([program, "-o", str(folder), "--arch", "sm_90a"]) == 0
    assert "for sm_90a" in capsys.readouterr().out
    manifest = json.loads((folder / "manifest.json").read_text())
    kernels = manifest["kernels"]
    fields = "name anchor ops config grid block shared_memory registers spills flops bytes_read bytes_written"
    assert all(set(fields.split()) <= set(kernel) for kernel in kernels)
    files = {path.name for path in folder.iterdir()}
    assert {f"{kernel['name']}.{suffix}" for kernel in kernels for suffix in ("cu", "cubin")} <= files
    assert {"nd.mlir", "kernel.mlir", "tile.mlir", "cuda.mlir", "manifest.json"} <= files
    assert not any(name.startswith(".") for name in files)
    assert all((folder / f"{kernel['name']}.cubin").read_bytes()[:4] == b"\x7fELF" for kernel in kernels)


def test_compiling_again_leaves_no_earlier_kernel(program: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert irc_compile.main([program, "-o", str(folder)]) == 0
    (folder / "mine.cu").write_text("// not irc's")
    before = {path.name for path in folder.glob("*.cubin")}
    assert irc_compile.main([program, "-o", str(folder), "--func", "helper"]) == 0
    after = {path.name for path in folder.glob("*.cubin")}
    named = {kernel["name"] + ".cubin" for kernel in json.loads((folder / "manifest.json").read_text())["kernels"]}
    assert after == named != before
    assert (folder / "mine.cu").exists()


@long(2)
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("irc", "func main("),
        ("nd", "nd."),
        ("kernel", "kernel.fused"),
        ("tile", "tile.program"),
        ("cuda", "cuda.kernel"),
        ("source", "__global__"),
        ("ptx", ".target sm_80"),
        ("sass", "EXIT"),
    ],
)
def test_one_level_is_printed(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, expected: str
) -> None:
    assert irc_compile.main([program, "--emit", level, "--arch", "sm_80"]) == 0
    out = capsys.readouterr().out
    assert expected in out
    assert irc_compile.main([program, "--emit", level, "--arch", "sm_80", "-o", str(tmp_path / "level")]) == 0
    assert (tmp_path / "level").read_text() == out


def test_bad_input_to_a_compilation_is_one_diagnostic(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert "sm_12" in _diagnostic(irc_compile.main([program, "--arch", "sm_12", "-o", out]), capsys)
    assert "invalid choice" in _diagnostic(irc_compile.main([program, "--emit", "llvm"]), capsys)
    assert "required: FILE" in _diagnostic(irc_compile.main([]), capsys)
    (tmp_path / "file").touch()
    assert "cannot write" in _diagnostic(irc_compile.main([program, "-o", str(tmp_path / "file")]), capsys)
    assert not Path(out).exists()


def test_irc_compile_writes_machine_code_as_text(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "softmax.irc"
    assert irc_compile.main([str(example), "-o", str(tmp_path / "out")]) == 0
    (kernel,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["kernels"]
    assert kernel["opcodes"]["MUFU"] > 0
    assert "MUFU.EX2" in (tmp_path / "out" / f"{kernel['name']}.sass").read_text()
