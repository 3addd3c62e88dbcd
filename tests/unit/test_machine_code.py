"""The machine code of kernels of two trees, compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from irc.codegen.nvrtc import compile_source
from irc.support.diagnostics import IrcError
from irc_tools import machine_code
from irc_tools.machine_code import ARCH, compare, text_of

SUITE = """\
title = "two rows"
rows = [
  { name = "twice a row", program = "func f(x: f32[64, 32]) -> f32[64, 32] { return x + x }" },
  { name = "no program", model = "return None" },
]
"""


def kernel(body: str, argument: str = "x") -> str:
    return f'extern "C" __global__ void f(float* {argument}) {{ {argument}[threadIdx.x] {body}; }}\n'


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    return tmp_path / "old", tmp_path / "new"


def test_names_and_comments_are_no_change(folders: tuple[Path, Path]) -> None:
    old, new = folders
    (old / "f.cu").write_text(kernel("+= 1.0f"))
    (new / "f.cu").write_text("// the same\n" + kernel("+= 1.0f", "values"))
    assert compare(old, new) == []


def test_a_change_says_what_the_kernel_takes(folders: tuple[Path, Path]) -> None:
    old, new = folders
    (old / "f.cu").write_text(kernel("+= 1.0f"))
    (new / "f.cu").write_text(kernel("*= 1.0f + x[threadIdx.x] * x[0]"))
    ((name, *figures),) = compare(old, new)
    assert name == "f.cu"
    assert len(figures) == 3
    before, after = map(int, figures[2].split(" > "))
    assert 0 < before < after


def test_kernels_and_errors_that_come_and_go(folders: tuple[Path, Path]) -> None:
    old, new = folders
    (old / "a.cu").write_text(kernel("= 0.0f"))
    (new / "b.error").write_text("no room")
    assert [row[:2] for row in compare(old, new)] == [["a.cu", "gone"], ["b.error", "new"]]


def test_the_text_is_a_part_of_the_cubin() -> None:
    cubin = compile_source(kernel("= 0.0f"), ARCH).cubin
    assert 0 < len(text_of(cubin)) < len(cubin)
    assert text_of(cubin) in cubin
    with pytest.raises(IrcError, match="64-bit ELF"):
        text_of(b"PTX")


def test_every_program_of_a_suite_has_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(SUITE)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "wrong.irc").write_text("func f(x: f32[4]) -> f32[4] { return x @ x }")
    assert machine_code.main(["--write", "made/out", "--suite", "two.toml"]) == 0
    files = sorted(path.name for path in (tmp_path / "made" / "out").iterdir())
    assert len(files) == 2
    assert files[0] == "examples_wrong.error"
    assert files[1].startswith("two.toml_twice_a_row.") and files[1].endswith(".cu")
