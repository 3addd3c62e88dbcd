"""Programs that the cache knows: neither parsed, nor built, nor lowered again, in text, graphs, jit and torch.compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import irc
import irc_frontend as ir
from irc.driver import compiler
from irc.driver.subjects import Subject
from irc.support import cache
from irc.support.diagnostics import IrcError
from irc_frontend import evaluation

TEXT = "func f(x: f32[31, 17]) -> f32[31] {\n    return sum(exp(x), axis=1) * 0.125\n}"
X = np.random.default_rng(0).standard_normal((31, 17)).astype(np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("IRC_TARGET", "cpu")
    forget(monkeypatch)
    return tmp_path / "cache"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process begins."""
    monkeypatch.setattr(compiler, "_executables", compiler._Executables())
    monkeypatch.setattr(evaluation, "_compiled", type(evaluation._compiled)())
    torch._dynamo.reset()


def again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process begins that must not compile."""
    forget(monkeypatch)
    monkeypatch.setattr(Subject, "module", lambda self, options: pytest.fail("built or parsed again"))
    monkeypatch.setattr(compiler, "_build", lambda module, options: pytest.fail("compiled again"))


def test_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    first = irc.compile(TEXT, "cpu")(X)
    again(monkeypatch)
    np.testing.assert_array_equal(irc.compile(TEXT, "cpu")(X), first)


def test_options_and_texts_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    irc.compile(TEXT, "cpu")
    forget(monkeypatch)
    built: list[Any] = []
    real = compiler._build
    monkeypatch.setattr(compiler, "_build", lambda module, options: built.append(options) or real(module, options))
    irc.compile(TEXT, "cpu", strict_rounding=True)
    irc.compile(TEXT.replace("0.125", "0.25"), "cpu")
    assert len(built) == 2
    monkeypatch.setattr(compiler, "host", lambda: ("another", "cpu", ""))
    irc.compile(TEXT, "cpu", func="f")
    assert len(built) == 3


def test_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute() -> np.ndarray[Any, Any]:
        x = ir.Tensor(X)
        return (ir.softmax(x) @ x.T + 1).numpy()

    first = compute()
    again(monkeypatch)
    np.testing.assert_array_equal(compute(), first)


def test_a_function_under_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(p: dict[str, Any], x: Any) -> Any:
        return ir.value_and_grad(lambda p: (ir.tanh(x @ p["w"]) ** 2).mean())(p)

    p = {"w": np.ones((17, 5), np.float32)}
    value, gradients = ir.jit(step)(p, X)
    again(monkeypatch)
    found, others = ir.jit(step)(p, X)
    assert float(found) == float(value)
    np.testing.assert_array_equal(others["w"].numpy(), gradients["w"].numpy())


@pytest.mark.parametrize("training", [False, True])
def test_a_model_of_torch(monkeypatch: pytest.MonkeyPatch, training: bool) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(17, 17), torch.nn.GELU()) for _ in range(3)))
    x = torch.from_numpy(X)

    def run() -> list[torch.Tensor]:
        with torch.set_grad_enabled(training):
            y = torch.compile(model, backend="irc")(x)
        if not training:
            return [y]
        gradients = torch.autograd.grad(y.pow(2).sum(), list(model.parameters()))
        return [y.detach(), *gradients]

    first = run()
    again(monkeypatch)
    for one, other in zip(run(), first, strict=True):
        assert torch.equal(one, other)


def test_errors_of_a_known_program_are_at_the_users_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    x, good, wrong = ir.Tensor(X), np.array([3]), np.array([99])

    def first(i: Any) -> Any:
        return ir.take(x, ir.Tensor(i), axis=0) * 0.5

    def second(i: Any) -> Any:

        return ir.take(x, ir.Tensor(i), axis=0) * 0.5

    first(good).numpy()
    for function, distance in ((first, 1), (second, 2)):
        again(monkeypatch)
        with pytest.raises(IrcError, match="index 99 is out of range") as caught:
            function(wrong).numpy()
        line = function.__code__.co_firstlineno + distance
        assert str(caught.value).startswith(f"{__file__}:{line}:")


def test_a_damaged_entry_is_compiled_again_with_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = irc.compile(TEXT, "cpu")(X)
    for kind in ("texts", "artifacts"):
        (entry,) = (folder / kind).iterdir()
        content = entry.read_bytes()
        for damaged in (content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 1]), b""):
            entry.write_bytes(damaged)
            forget(monkeypatch)
            with pytest.warns(cache.Damaged, match="of irc's cache is damaged, and ignored"):
                found = irc.compile(TEXT, "cpu")
            np.testing.assert_array_equal(found(X), first)
            assert entry.read_bytes() == content


def test_a_known_text_needs_no_compiler(folder: Path) -> None:
    code = f"""
import sys, irc, numpy as np
exe = irc.compile({TEXT!r}, "cpu")
exe(np.zeros((31, 17), np.float32))
print("xdsl" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.stdout.strip() for run in runs] == ["True", "False"]
