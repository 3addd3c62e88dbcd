"""The line of a long compilation, on a terminal and not elsewhere."""

from __future__ import annotations

import io
import time

import pytest

import irc
from irc.driver import compiler
from irc.support import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from now on: pytest has its own between a fixture and a test."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(progress, "DELAY", 0.05)
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    return found


def until(condition: str, terminal: Terminal) -> None:
    end = time.monotonic() + 20
    while condition not in terminal.getvalue() and time.monotonic() < end:
        time.sleep(0.005)


def test_a_long_compilation_has_a_line_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    real = compiler._build

    def slow(*given: object) -> object:
        made = real(*given)  # pyright: ignore[reportArgumentType]
        until("machine code", terminal)
        return made

    monkeypatch.setattr(compiler, "_build", slow)
    irc.compile("func steps(x: f32[43]) -> f32[43] {\n    return exp(x) + 0.625\n}", "cpu")
    text = terminal.getvalue()
    assert "\rirc compiles steps: 0 s" in text and ", machine code" in text
    assert text.endswith(" \r") and not text.rstrip(" \r").endswith("\n")


def test_a_short_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 100.0)
    with progress.progress("f"):
        pass
    assert terminal.getvalue() == ""


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setenv("IRC_PROGRESS", "off")
    with progress.progress("f"):
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_files_have_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = io.StringIO()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    with progress.progress("f"):
        time.sleep(0.1)
    assert found.getvalue() == ""
