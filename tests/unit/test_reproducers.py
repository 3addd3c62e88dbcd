"""Reproducers: whoever compiles, an error in irc leaves one file that fails again as it did."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

import irc
from irc.codegen import nvrtc
from irc.codegen.cpu import compiling
from irc.driver.pipelines import ALL, PASSES
from irc.driver.reproducers import PREFIX, parse_reproducer
from irc.driver.universe import resolve
from irc.passes.kernel.align_operands import AlignOperandsPass
from irc.passes.tile.assign_layouts import AssignLayoutsPass
from irc.passes.tile.guard_masks import GuardMasksPass
from irc.support.diagnostics import RUNS_AGAIN, InternalError
from irc_tools import compile as irc_compile
from irc_tools import opt as irc_opt
from irc_tools import run as irc_run
from irc_tools.driver import OptMain
from irc_tools.pipeline_spec import parse_passes

PROGRAM = """\
func f(x: f32[64, 32]) -> f32[64] {
    return sum(relu(x), axis=1)
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("IRC_REPRODUCERS", str(tmp_path / "found"))
    (tmp_path / "f.irc").write_text(PROGRAM)
    return tmp_path / "found"


def by_opt(folder: Path) -> int:
    return irc_opt.main([str(folder.parent / "f.irc"), "-p", "all{strict-rounding=true}", "--arch", "sm_90a"])


def by_compile(folder: Path) -> int:
    return irc_compile.main([str(folder.parent / "f.irc"), "--arch", "sm_90a", "-o", str(folder.parent / "out")])


def by_run(folder: Path) -> int:
    return irc_run.main([str(folder.parent / "f.irc"), "--target", "sim", "--arch", "sm_90a"])


def fail(self: object, ctx: Context, op: ModuleOp) -> None:
    raise KeyError("no such thing")


def leave_a_fault(self: object, ctx: Context, op: ModuleOp) -> None:
    """An addition of two types, which verifies nowhere."""
    constants = [arith.ConstantOp(IntegerAttr(0, i32)), arith.ConstantOp(IntegerAttr(0, 64))]
    fault = arith.AddiOp(constants[0], constants[0])
    fault.operands[1] = constants[1].result
    op.body.block.add_ops([*constants, fault])


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def again(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What running a reproducer prints; it writes no further one."""
    assert irc_opt.main([str(path), "--run-reproducer"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert RUNS_AGAIN not in err
    assert only(path.parent) == path
    return err


@pytest.mark.parametrize("command", [by_opt, by_compile, by_run], ids=lambda each: each.__name__)
def test_a_pass_that_raises(
    command: Callable[[Path], int], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(GuardMasksPass, "apply", fail)
    assert command(folder) == 1
    lines = capsys.readouterr().err.splitlines()
    path = only(folder)
    assert lines[0] == "error: internal error in pass 'guard-masks': KeyError: 'no such thing'"
    assert lines[2:] == [f"reproducer: `irc-opt {path} --run-reproducer`"]
    text = path.read_text()
    assert parse_reproducer(text).passes.startswith("guard-masks,queue-tiles")
    assert "tile.program" in text
    assert "cuda.kernel" not in text
    assert "f.irc" in text, "with the places of the program"
    assert again(path, capsys).splitlines() == lines[:2]


def test_what_is_mended_goes_through(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the end of the pipeline, with the options of the passes, and as without the failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AlignOperandsPass, "apply", fail)
        assert by_opt(folder) == 1
    capsys.readouterr()
    assert irc_opt.main([str(only(folder)), "--run-reproducer"]) == 0
    found = capsys.readouterr().out
    assert by_opt(folder) == 0
    assert found == capsys.readouterr().out


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_from_python(
    target: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(AlignOperandsPass, "apply", fail)
    with pytest.raises(KeyError) as found:
        irc.compile(PROGRAM, target)
    path = only(folder)
    assert found.value.__notes__ == ["in pass 'align-operands'", f"reproducer: `irc-opt {path} --run-reproducer`"]
    assert "internal error in pass 'align-operands': KeyError" in again(path, capsys)


def test_what_is_invalid_behind_all_passes_is_that_of_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(GuardMasksPass, "apply", leave_a_fault)
    assert by_compile(folder) == 1
    assert RUNS_AGAIN in capsys.readouterr().err
    path = only(folder)
    assert path.name.startswith("guard-masks-")
    assert "after pass 'guard-masks': 'arith.addi'" in again(path, capsys)


def test_what_a_pass_leaves_is_invalid(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(GuardMasksPass, "apply", leave_a_fault)
    assert by_opt(folder) == 1
    first = capsys.readouterr().err.splitlines()[0]
    assert first in again(only(folder), capsys)


def test_a_compiler_that_refuses(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("irc.codegen.compiling.print_kernels", lambda kernels: "no C++")
    assert by_compile(folder) == 1
    path = only(folder)
    lines = capsys.readouterr().err.splitlines()
    assert "error: NVRTC cannot compile" in lines[0]
    assert "cuda.kernel" in path.read_text()
    assert lines[0] in again(path, capsys)


def test_llvm_that_refuses(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("LLVM IR parsing error")

    monkeypatch.setattr(compiling, "_optimized", refuse)
    with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
        irc.compile(PROGRAM, "cpu")
    path = only(folder)
    assert "cpu.kernel" in path.read_text()
    assert "RuntimeError: LLVM IR parsing error" in again(path, capsys)


def test_torch_says_where_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(AlignOperandsPass, "apply", fail)
    torch._dynamo.reset()
    model = torch.compile(lambda x: torch.relu(x).sum(1), backend="irc")
    monkeypatch.setenv("IRC_TARGET", "cpu")
    with pytest.raises(Exception, match="no such thing"), pytest.warns(UserWarning, match="--run-reproducer"):
        model(torch.ones(64, 32))
    torch._dynamo.reset()
    assert only(folder).name.startswith("align-operands-")


def test_diagnostics_are_no_errors_in_irc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "f.irc").write_text(PROGRAM.replace("axis=1", "axis=2"))
    assert by_compile(folder) == 1
    assert not folder.exists()


def test_ir_that_was_read_is_its_own_reproducer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "tile.mlir"
    assert irc_opt.main([str(folder.parent / "f.irc"), "-p", "kernel,tile-kernels", "-o", str(left)]) == 0
    monkeypatch.setattr(AssignLayoutsPass, "apply", fail)
    assert irc_opt.main([str(left), "-p", "assign-layouts"]) == 1
    assert "does not expect such IR" in capsys.readouterr().err
    assert not folder.exists()


def test_where_they_go(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(AlignOperandsPass, "apply", fail)
    program = str(tmp_path / "f.irc")
    places = {
        "asked": tmp_path / "asked",
        "cache": tmp_path / "cache" / "reproducers",
        "temporary": tmp_path / "tmp" / "irc" / "reproducers",
    }
    assert irc_compile.main([program, "--reproducers", str(places["asked"])]) == 1
    monkeypatch.delenv("IRC_REPRODUCERS")
    assert irc_compile.main([program]) == 1
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    assert irc_compile.main([program]) == 1
    assert [only(place).name[:15] for place in places.values()] == ["align-operands-"] * 3
    monkeypatch.setenv("IRC_REPRODUCERS", "off")
    assert irc_compile.main([program]) == 1
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_hides_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write_text("a file")
    monkeypatch.setattr(AlignOperandsPass, "apply", fail)
    assert by_compile(folder) == 1
    assert re.search(
        r"internal error in pass 'align-operands'.*\n.*\nno reproducer was written: cannot write",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("builtin.module {\n}\n", "this is no reproducer"),
        (f"{PREFIX}{{", "cannot read what the reproducer says"),
        (f"{PREFIX}{json.dumps({'passes': 'cse'})}\n", "cannot read what the reproducer says"),
        (
            f"{PREFIX}{json.dumps({'passes': 'csee', 'target': 'mlir', 'verified': True, 'error': ''})}\n",
            "unknown pass",
        ),
    ],
)
def test_what_is_no_reproducer(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(text)
    assert irc_opt.main([str(path), "--run-reproducer"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_every_pass_reads_back_from_its_spec() -> None:
    available = OptMain(irc_opt.argument_parser().parse_args([])).available_passes
    for name, path in PASSES.items():
        made = resolve(path)()
        (step,) = parse_passes(str(made.spec(include_default=True)), available)
        assert step.entry == made, name
    assert len(parse_passes("all", available)) == len(ALL)


def test_resources_of_a_refusal_are_an_error_in_irc() -> None:
    with pytest.raises(irc.IrcError) as found:
        nvrtc.compile_source("no C++", "sm_90a")
    assert isinstance(found.value, InternalError)
