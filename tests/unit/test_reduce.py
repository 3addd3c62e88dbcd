"""irc-reduce: what is left is small, valid, and what the test accepts; the input and the best are never lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from drawing import long

from irc.driver.lowering import lower
from irc.driver.program import load, parse
from irc.driver.reproducers import parse_reproducer
from irc.ir.printer import print_ir
from irc.ir.verification import verify
from irc.passes.tile.guard_masks import GuardMasksPass
from irc_tools import opt as irc_opt
from irc_tools import reduce as irc_reduce
from irc_tools.reduction.edits import Strategy, inline_regions
from irc_tools.reduction.search import STRATEGIES, Search, cost_of

PROGRAM = """\
dim M = 512, K = 256, N = 512

func other(x: f32[M, K], unused: f32[M]) -> f32[M] { return sum(x, axis=1) }

func dense(x: bf16[M, K], w: bf16[K, N], b: bf16[N]) -> (bf16[M, N], bf16[M]) {
    h = relu(x @ w + b)
    return softmax(h), sum(tanh(x), axis=1)
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dense.irc"
    path.write_text(PROGRAM)
    return path


def at(level: str, program: Path) -> Path:
    if level == "irc":
        return program
    path = program.with_suffix(".mlir")
    path.write_text(print_ir(lower(load(program), level, arch="cpu" if level == "cpu" else "sm_90a")))
    return path


@long(3)
@pytest.mark.parametrize(
    ("level", "word", "most"),
    [
        ("irc", "nd.matmul", 4),
        ("nd", "nd.tanh", 4),
        ("kernel", "kernel.fused", 6),
        ("tile", "tile.dot ", 15),
        ("cuda", "cuda.wgmma ", 10),
        ("all", "host.launch", 12),
        ("cpu", "cpu.gemm", 12),
    ],
)
def test_what_is_left(level: str, word: str, most: int, program: Path) -> None:
    path = at(level, program)
    before = path.read_text()
    first = parse(before, str(path))
    out = program.parent / "out.mlir"
    assert irc_reduce.main([str(path), "--test", f"grep -q '{word}'", "-o", str(out)]) == 0
    assert path.read_text() == before
    text = out.read_text()
    module = parse(text, str(out))
    verify(module)
    assert word in text
    assert cost_of(module) < cost_of(first)
    assert cost_of(module).ops <= most


def test_all_candidates_are_valid_and_smaller_ones_are_kept(program: Path) -> None:
    module = lower(load(program), "tile", arch="sm_90a")
    seen: list[str] = []

    def accepts(candidate: object) -> bool:
        seen.append(print_ir(candidate))  # pyright: ignore[reportArgumentType]
        verify(parse(seen[-1], "<candidate>.mlir"))
        return "tile.for_tiles" in seen[-1] and len(seen) % 3 > 0

    search = Search(module, accepts, time.monotonic() + 600)
    before = print_ir(module)
    search.run()
    assert print_ir(module) == before
    assert len(seen) == len(set(seen)) == search.tests
    assert cost_of(search.best) < cost_of(module)


def test_a_loop_runs_once() -> None:
    module = parse(
        """
        func.func @f(%x: tensor<4xf32>, %a: index, %b: index) -> tensor<4xf32> {
          %0 = scf.for %i = %a to %b step %b iter_args(%y = %x) -> (tensor<4xf32>) {
            %1 = nd.add %y, %x : tensor<4xf32>
            scf.yield %1 : tensor<4xf32>
          }
          func.return %0 : tensor<4xf32>
        }
        """,
        "f.mlir",
    )
    (edit,) = [edit for edit in inline_regions(module) if "ForOp" in str(edit)]
    assert edit()
    verify(module)
    names = [op.name for op in module.walk()]
    assert names == ["builtin.module", "func.func", "nd.add", "func.return"]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: each.__name__)
def test_every_strategy_changes_something(strategy: Strategy, program: Path) -> None:
    for level in ("nd", "kernel", "tile", "cuda"):
        module = lower(load(program), level, arch="sm_90a")
        before = print_ir(module)
        for edit in strategy(module):
            edit()
            if print_ir(module) != before:
                return
    pytest.fail("it changes nothing")


def test_a_reproducer_stays_one(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("no such thing")

    with monkeypatch.context() as patch:
        patch.setenv("IRC_REPRODUCERS", str(tmp_path / "found"))
        patch.setattr(GuardMasksPass, "apply", fail)
        assert irc_opt.main([str(program), "-p", "all"]) == 1
    (path,) = (tmp_path / "found").iterdir()
    out = tmp_path / "out.mlir"
    command = f"sh -c '{Path(sys.executable).parent}/irc-opt {{}} --run-reproducer | grep -q cuda.wgmma'"
    assert irc_reduce.main([str(path), "--test", command, "-o", str(out), "--budget", "8s"]) == 0
    assert parse_reproducer(out.read_text()) == parse_reproducer(path.read_text())
    assert len(out.read_text()) < len(path.read_text())
    assert irc_opt.main([str(out), "--run-reproducer"]) == 0
    assert "cuda.wgmma" in capsys.readouterr().out


def test_places_stay_where_the_test_needs_them(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    assert irc_reduce.main([str(program), "--test", "grep -q dense.irc", "-o", str(out)]) == 0
    assert "dense.irc" in out.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_the_best(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from irc_tools.reduce import main; sys.exit(main())"
    command = [sys.executable, "-c", script, str(program), "--test", "sleep 0.3; grep -q tanh {}", "-o", str(out)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = print_ir(load(program))
    deadline = time.monotonic() + 60
    while (not out.exists() or len(out.read_text()) >= len(first)) and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    shown, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "interrupted" in shown
    assert "nd.tanh" in out.read_text()
    assert program.read_text() == PROGRAM


def test_time_is_bounded(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    begin = time.monotonic()
    assert irc_reduce.main([str(program), "--test", "sleep 0.2; grep -q matmul", "-o", str(out), "--budget", "1s"]) == 0
    assert time.monotonic() - begin < 30
    assert "the time is over" in capsys.readouterr().out


def test_a_test_that_hangs_is_ended(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "mark"
    command = f"(sleep 3; touch {mark}) & sleep 60; true"
    assert irc_reduce.main([str(program), "--test", command, "--timeout", "0.3s"]) == 1
    assert "does not accept the input: exit status none in 0.3 s" in capsys.readouterr().err
    time.sleep(3)
    assert not mark.exists(), "with what it started"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dense.irc", "--test", "false"], "the test does not accept the input: exit status 1"),
        (["none.irc", "--test", "true"], "cannot read none.irc"),
        (["bad.mlir", "--test", "true"], "bad.mlir:2:"),
        (["dense.irc", "--test", "true", "-o", "dense.irc"], "expected another file than the input"),
        (["dense.irc", "--test", "true", "--budget", "soon"], "--budget soon: expected a time"),
        (["dense.irc", "--test", "true", "--timeout", "0"], "--timeout 0: expected a time"),
    ],
)
def test_bad_input(arguments: list[str], message: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program.parent / "bad.mlir").write_text("func.func @f(%x: i32) -> i32 {\n  func.return %x, %x : i32, i32\n}\n")
    assert irc_reduce.main(arguments) == 1
    assert message in capsys.readouterr().err
    assert program.read_text() == PROGRAM
    assert {path.name for path in program.parent.iterdir()} == {"bad.mlir", "dense.irc"}
