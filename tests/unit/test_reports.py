"""Dumps, timings and verification between passes: the same by irc-opt, irc-compile, irc-run and from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

import irc
from irc.driver.pipelines import ALL
from irc.passes.tile.guard_masks import GuardMasksPass
from irc_tools import compile as irc_compile
from irc_tools import opt as irc_opt
from irc_tools import run as irc_run

PROGRAM = """\
func f(x: f32[64, 32]) -> f32[64] {
    return sum(relu(x), axis=1)
}
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "f.irc"
    path.write_text(PROGRAM)
    return path


def by_opt(program: Path, *options: str) -> int:
    return irc_opt.main([str(program), "-p", "all", "--arch", "sm_90a", "-o", str(program.parent / "out"), *options])


def by_compile(program: Path, *options: str) -> int:
    return irc_compile.main([str(program), "--arch", "sm_90a", "-o", str(program.parent / "folder"), *options])


def by_emitting(program: Path, *options: str) -> int:
    return irc_compile.main([str(program), "--arch", "sm_90a", "--emit", "cuda", *options])


def by_run(program: Path, *options: str) -> int:
    return irc_run.main([str(program), "--target", "sim", "--arch", "sm_90a", *options])


def by_python(program: Path, *options: str) -> int:
    """With the options as arguments of `Reports`."""
    given = iter(options)
    names = {name[2:].replace("-", "_"): next(given) if name == "--dump-dir" else True for name in given}
    with irc.Reports(**names):  # pyright: ignore[reportArgumentType]
        irc.compile(program, "sim", arch="sm_90a")
    return 0


Command = Callable[..., int]
COMMANDS = [by_opt, by_compile, by_emitting, by_run, by_python]
each = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)


def dumped(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command.__name__)
def test_dumps_are_those_of_irc_opt(command: Command, program: Path, tmp_path: Path) -> None:
    assert by_opt(program, "--dump-dir", str(tmp_path / "expected")) == 0
    expected = dumped(tmp_path / "expected")
    assert list(expected) == ["00-input.mlir", *(f"{i:02}-{name}.mlir" for i, name in enumerate(ALL, 1))]
    assert command(program, "--dump-dir", str(tmp_path / "found")) == 0
    assert dumped(tmp_path / "found") == expected


@pytest.mark.parametrize("command", COMMANDS[1:-1], ids=lambda command: command.__name__)
def test_dumps_of_what_goes_on_have_the_numbers_of_its_passes(command: Command, program: Path, tmp_path: Path) -> None:
    assert by_opt(program, "--dump-dir", str(tmp_path / "whole")) == 0
    (left,) = (tmp_path / "whole").glob("*-share-programs.mlir")
    for name, by in (("expected", by_opt), ("found", command)):
        assert by(left, "--dump-dir", str(tmp_path / name)) == 0
    expected = dumped(tmp_path / "expected")
    assert next(iter([*expected][1:])) > left.name
    assert dumped(tmp_path / "found") == expected


@each
def test_timings_name_every_pass(command: Command, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(program, "--time-passes") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.endswith(" s")]
    steps = [line.split("  ")[0] for line in lines]
    assert [step for step in steps if step in ALL] == list(ALL)
    assert {"parse", "verify", "total"} <= set(steps)


def leave_a_fault(self: GuardMasksPass, ctx: Context, op: ModuleOp) -> None:
    """An addition of two types, which verifies nowhere."""
    constants = [arith.ConstantOp(IntegerAttr(0, i32)), arith.ConstantOp(IntegerAttr(0, 64))]
    fault = arith.AddiOp(constants[0], constants[0])
    fault.operands[1] = constants[1].result
    op.body.block.add_ops([*constants, fault])


def mend(self: object, ctx: Context, op: ModuleOp) -> None:
    """Takes the fault away behind the pass that left it, so that the end of the pipeline is valid."""
    for each in reversed([*op.body.block.ops]):
        if isinstance(each, arith.AddiOp | arith.ConstantOp):
            each.detach()
            each.erase()


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from irc.passes.tile.plan_shared import PlanSharedPass

    plan = PlanSharedPass.apply
    monkeypatch.setattr(GuardMasksPass, "apply", leave_a_fault)
    monkeypatch.setattr(PlanSharedPass, "apply", lambda self, ctx, op: (mend(self, ctx, op), plan(self, ctx, op)))


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize("command", COMMANDS[:-1], ids=lambda command: command.__name__)
def test_what_a_pass_leaves_is_verified(command: Command, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(program, "--verify-each") == 1
    assert "error: after pass 'guard-masks': 'arith.addi'" in capsys.readouterr().err
    assert command(program, "--no-verify-each") == 0


@pytest.mark.usefixtures("fault")
def test_what_a_pass_leaves_is_verified_from_python(program: Path) -> None:
    with pytest.raises(irc.IrcError, match="after pass 'guard-masks': 'arith.addi'"):
        by_python(program, "--verify-each")
    by_python(program)


@pytest.mark.parametrize("command", COMMANDS[:-1], ids=lambda command: command.__name__)
def test_ir_is_printed_around_passes(command: Command, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(program, "--print-after", "fuse-kernels", "--print-before", "tile-kernels") == 0
    err = capsys.readouterr().err
    assert err.count("// ----- IR ") == 2
    assert err.index("IR after fuse-kernels") < err.index("kernel.fused") < err.index("IR before tile-kernels")
    assert command(program, "--print-after", "fuse-kernel") == 1
    assert "unknown pass 'fuse-kernel' to print" in (err := capsys.readouterr().err)
    assert "did you mean 'fuse-kernels'" in err


def test_nothing_comes_from_a_cache(program: Path, tmp_path: Path) -> None:
    known = irc.compile(program, "sim")
    assert irc.compile(program, "sim") is known
    with irc.Reports(dump_dir=tmp_path / "dumps") as reports:
        irc.compile(program, "sim")
        irc.compile(program, "sim")
    names = [path.name for path in (tmp_path / "dumps").iterdir()]
    assert len(names) == 2 * (1 + len(ALL))
    assert sum(name.startswith("module1-") for name in names) == 1 + len(ALL)
    assert [step for step, _ in reports.seconds if step in ALL] == [*ALL, *ALL]
    assert irc.compile(program, "sim") is known


def test_the_interpreter_needs_no_pass(program: Path, tmp_path: Path) -> None:
    with irc.Reports(dump_dir=tmp_path / "dumps"):
        irc.compile(program, "interpret")
    assert [path.name for path in (tmp_path / "dumps").iterdir()] == ["00-input.mlir"]
