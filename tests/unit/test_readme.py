"""The README's worked example is what irc-opt prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irc_tools.opt import main

README = Path(__file__).parents[2] / "README.md"


def _blocks() -> list[tuple[str, str]]:
    """The code blocks of the README, each with the line of text before it."""
    return re.findall(r"([^\n]*)\n\n```\w*\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("passes", ["nd", "kernel,tile-kernels"])
def test_the_worked_example_is_real(passes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = _blocks()
    program = next(code for _, code in blocks if code.startswith("# dense.irc"))
    shown = next(code for text, code in blocks if re.search(rf"-p '?{re.escape(passes)}'?`", text))
    path = tmp_path / "dense.irc"
    path.write_text(program)
    assert main([str(path), "-p", passes]) == 0
    printed = {line.strip() for line in capsys.readouterr().out.split("\n")}
    assert [line for line in shown.strip().split("\n") if line.strip() not in printed] == []
