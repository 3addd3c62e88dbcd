"""What Python shows of an error: the user's frames of a diagnostic, all frames of anything else."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.driver.lowering import run_passes
from irc.driver.program import parse
from irc.support.diagnostics import IrcError
from irc.support.frames import shown
from irc_tools import opt as irc_opt
from irc_tools.driver import OptMain

WRONG = """\
import irc

def mine():
    return irc.compile("func f(x: f32[4]) -> f32[4] { return y }", "interpret")

"""


def stderr_of(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert done.returncode == 1, done.stderr
    return done.stderr


def files_in(text: str) -> set[str]:
    return {line.split('"')[1] for line in text.splitlines() if line.startswith("  File ")}


def test_a_diagnostic_shows_the_users_frames() -> None:
    err = stderr_of(f"{WRONG}mine()")
    assert files_in(err) == {"<string>"}
    assert "in mine" in err
    assert "direct cause" not in err
    assert err.endswith(
        "irc.IrcError: <string>:1:38: unknown name y\nfunc f(x: f32[4]) -> f32[4] { return y }\n"
        + 37 * " "
        + "^\nhint: names here are x\n"
    )


def test_irc_debug_shows_all_frames() -> None:
    assert any("evaluator.py" in name for name in files_in(stderr_of(f"{WRONG}mine()", IRC_DEBUG="1")))


def test_functions_that_irc_calls_stay_in_sight() -> None:
    script = """
import numpy as np
import irc_frontend as ir

def inner(x):
    return ir.concatenate([x, x], axis=7)

@ir.jit
def outer(x):
    return inner(x)

outer(np.ones((4, 4), np.float32))
"""
    err = stderr_of(script)
    assert files_in(err) == {"<string>"}
    assert ["in <module>" in err, "in outer" in err, "in inner" in err] == [True] * 3


def test_an_exception_of_such_a_function_is_its_own() -> None:
    script = """
import numpy as np
import irc_frontend as ir

@ir.jit
def outer(x):
    raise ZeroDivisionError("mine")

outer(np.ones((4, 4), np.float32))
"""
    err = stderr_of(script)
    assert err.endswith("ZeroDivisionError: mine\n")
    assert any("jit.py" in name for name in files_in(err)), "nothing is hidden"


def test_what_it_was_raised_from_stays_where_it_is_the_users() -> None:
    script = f"""{WRONG}
def cause():
    raise ValueError("the user's")

try:
    cause()
except ValueError as error:
    from irc import IrcError
    raise IrcError("behind it") from error
"""
    err = stderr_of(script)
    assert "ValueError: the user's" in err
    assert err.endswith("irc.IrcError: behind it\n")


def test_a_hook_of_the_user_stays() -> None:
    err = stderr_of(
        f"import sys\nsys.excepthook = lambda kind, error, tb: print('mine', kind.__name__, tb is error.__traceback__, file=sys.stderr)\n{WRONG}mine()"
    )
    assert err == "mine IrcError True\n"


def test_ipython_asks_the_exception() -> None:
    namespace: dict[str, Any] = {}
    exec(compile(WRONG, "<cell>", "exec"), namespace)
    with pytest.raises(IrcError) as found:
        namespace["mine"]()
    before = found.value.__traceback__
    lines = found.value._render_traceback_(None, None, None, 0)
    assert lines[0] == "Traceback (most recent call last):"
    assert "irc.IrcError: <string>:1:38: unknown name y" in lines
    assert not any("evaluator.py" in line for line in lines)
    assert any('"<cell>"' in line for line in lines)
    assert found.value.__traceback__ is before, "debuggers have all frames"


def test_it_goes_through_pickle() -> None:
    found = pickle.loads(pickle.dumps(IrcError("no")))
    assert type(found) is IrcError


class PluginPass(ModulePass):
    """A pass of somebody else."""

    name = "their-pass"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("theirs")


PluginPass.__module__ = "their_package.passes"


@pytest.mark.parametrize(
    "text", ["func.func @f() {\n  func.return\n}\n", "tile.program @f() {results = 0 : i64} {\n}\n"]
)
def test_an_exception_of_a_plug_in_is_the_plug_ins(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register = OptMain._register

    def with_plug_in(self: OptMain) -> None:
        register(self)
        self.available_passes["their-pass"] = lambda: PluginPass

    monkeypatch.setattr(OptMain, "_register", with_plug_in)
    path = tmp_path / "f.mlir"
    path.write_text(text)
    assert irc_opt.main([str(path), "-p", "their-pass"]) == 1
    assert capsys.readouterr().err == (
        "error: pass 'their-pass' of their_package: KeyError: 'theirs'\n"
        "hint: this is an error in their_package; IRC_DEBUG=1 shows where\n"
    )
    with pytest.raises(KeyError, match="theirs") as found:
        run_passes(parse(text, "f.mlir"), [PluginPass()])
    assert found.value.__notes__ == ["in pass 'their-pass' of their_package"]
    assert "their-pass" in "".join(shown(found.value))


def test_a_training_example_without_a_gpu_says_so_in_a_line() -> None:
    from irc.runtime.driver import is_present

    if is_present():
        pytest.skip("there is a GPU")
    example = Path(__file__).parents[2] / "examples" / "train_digits.py"
    done = subprocess.run([sys.executable, str(example), "--target", "cuda"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("train_digits.py: error: --target cuda: there is no GPU")
    assert done.stderr.count("\n") == 1
