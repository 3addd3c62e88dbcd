"""irc-run and irc-compile on the IR of every level."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from drawing import slow
from xdsl.ir import Operation

from irc.driver.lowering import lower
from irc.driver.program import load
from irc.passes.tile import plan_shared
from irc_tools import compile as irc_compile
from irc_tools import opt as irc_opt
from irc_tools import run as irc_run

PROGRAM = """\
func f(x: bf16[64, 128], w: bf16[128, 64]) -> bf16[64, 64] {
    return softmax(relu(x @ w))
}
"""

ULP = 2**-7
"""Of bf16: sums in another order may round to the next number."""

LEVELS = {"kernel": "kernel", "tiles": "kernel,tile-kernels", "tile": "tile", "cuda": "cuda", "plan": "all"}


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program at every level."""
    folder = tmp_path_factory.mktemp("levels")
    (folder / "text.irc").write_text(PROGRAM)
    for name, passes in LEVELS.items():
        assert irc_opt.main([str(folder / "text.irc"), "-p", passes, "-o", str(folder / f"{name}.mlir")]) == 0
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))


def results(folder: Path, file: str, target: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    out = folder / f"{file}-{target}"
    assert irc_run.main([str(folder / file), "--target", target, "--output", str(out)]) == 0
    return np.load(out / "0.npy")


def test_every_level_computes_the_same(levels: Path) -> None:
    expected = results(levels, "text.irc", "sim")
    assert np.abs(expected).max() > 0
    for level in ("kernel", "tiles", "tile"):
        np.testing.assert_allclose(results(levels, f"{level}.mlir", "interpret"), expected, rtol=ULP)
    for level in ("tile", "cuda"):
        np.testing.assert_array_equal(results(levels, f"{level}.mlir", "sim"), expected)


def test_kernels_are_checked(levels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert irc_run.main([str(levels / "kernel.mlir"), "--target", "interpret", "--check"]) == 0
    assert "ok" in capsys.readouterr().out


@pytest.mark.parametrize("level", ["kernel", "tile"])
def test_kernels_and_tiles_are_compiled_to_the_same_code(
    level: str, levels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found: list[list[str]] = []
    for file in ("text.irc", f"{level}.mlir"):
        assert irc_compile.main([str(levels / file), "--emit", "source"]) == 0
        found.append(re.sub(r"//.*", "", capsys.readouterr().out).split())
    assert found[0] == found[1]


DUMPED = {
    "rows": "func f(x: f32[64, 256]) -> f32[64, 256] {\n    return softmax(x)\n}\n",
    "sums": "func f(x: bf16[512, 512], w: bf16[512, 512]) -> f32[512] {\n    return sum(cast(relu(x) @ w, f32), axis=0)\n}\n",
    "parts": "func f(x: f32[64, 1024], w: f32[1024, 64]) -> f32[64, 64] {\n    return x @ w\n}\n",
}


def dumps(folder: Path, name: str) -> list[Path]:
    """The IR after each pass that changes it."""
    source = folder / f"{name}.irc"
    source.write_text(DUMPED[name])
    assert irc_opt.main([str(source), "-p", "all", "--dump-dir", str(folder / name), "-o", str(folder / "out")]) == 0
    files = sorted((folder / name).iterdir())
    return list({file.read_text(): file for file in reversed(files)}.values())[::-1]


@slow
@pytest.mark.parametrize("name", DUMPED)
def test_the_ir_after_any_pass_goes_on_to_the_same_kernels(name: str, tmp_path: Path) -> None:
    *before, last = dumps(tmp_path, name)
    assert len(before) > 10
    for dump in (*before, last):
        assert irc_opt.main([str(dump), "-p", "all", "-o", str(tmp_path / "all.mlir")]) == 0
        assert (tmp_path / "all.mlir").read_text() == last.read_text(), dump.name


@slow
def test_the_ir_after_any_pass_is_compiled_to_the_same_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *before, last = dumps(tmp_path, "rows")
    for dump in before:
        assert irc_compile.main([str(dump), "--emit", "cuda"]) == 0
        assert capsys.readouterr().out == last.read_text(), dump.name
    assert irc_compile.main([str(last), "--emit", "cuda"]) == 1
    assert "take the IR before build-host-plan" in capsys.readouterr().err


def test_what_is_not_noted_is_seen_by_the_planned_programs(tmp_path: Path) -> None:
    *before, last = dumps(tmp_path, "sums")
    planned = next(dump for dump in before if dump.stem.endswith("plan-shared"))
    text, count = re.subn(r" attributes {[^}]*irc.after[^}]*}", "", planned.read_text())
    assert count == 1
    planned.write_text(text)
    assert irc_opt.main([str(planned), "-p", "all", "-o", str(tmp_path / "all.mlir")]) == 0
    assert (tmp_path / "all.mlir").read_text() == last.read_text()


@pytest.mark.parametrize(
    ("noted", "message"),
    [('"fuse"', "expected a pass of the pipelines"), ("7 : i64", "expected a string, the name of a pass")],
)
def test_a_pass_that_there_is_not_is_not_gone_on_from(
    noted: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.mlir").write_text(f"builtin.module attributes {{irc.after = {noted}}} {{\n}}\n")
    assert irc_opt.main([str(tmp_path / "f.mlir"), "-p", "all"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("level", "options", "message"),
    [
        ("cuda", ["--target", "interpret"], "no tile program @f_0 to launch"),
        ("plan", ["--target", "interpret"], "the program is a host plan already"),
        ("tile", ["--target", "cpu"], "the module is for sm_90a, not for cpu"),
        ("plan", ["--target", "sim"], "the program is a host plan already"),
        ("tile", ["--target", "interpret", "--check"], "--check needs arrays"),
    ],
)
def test_what_cannot_be_run_is_said(
    level: str, options: list[str], message: str, levels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert irc_run.main([str(levels / f"{level}.mlir"), *options]) == 1
    err = capsys.readouterr().err
    assert err.count("error: ") == 1
    assert message in err
    assert "hint: " in err


def test_an_exception_is_an_error_in_irc_unless_somebody_else_wrote_the_ir(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, kernels = tmp_path / "f.irc", tmp_path / "kernels.mlir"
    source.write_text(PROGRAM)
    assert irc_opt.main([str(source), "-p", "kernel", "-o", str(kernels)]) == 0

    def fail(self: object, program: Operation) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(plan_shared.PlanSharedPass, "run", fail)
    assert irc_opt.main([str(source), "-p", "tile"]) == 1
    assert "internal error in pass 'plan-shared': ValueError: no such thing" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no such thing"):
        lower(load(source), "tile")
    for command, options in ((irc_opt, ["-p", "tile"]), (irc_compile, ["--emit", "cuda"])):
        assert command.main([str(kernels), *options]) == 1
        err = capsys.readouterr().err
        assert "pass 'plan-shared' does not expect such IR: ValueError: no such thing" in err
        assert re.search(r"kernels.mlir:\d+:\d+: error: ", err)
