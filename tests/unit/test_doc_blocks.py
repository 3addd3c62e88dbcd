"""Every block of code in README and docs runs, or says why not: `<!-- not run: WHY -->` in the line before it.

Blocks of Python of a page run one after the other, in one namespace; those of the language are parsed; commands run,
beside the programs that they name. Blocks of `text` are pictures and what programs print. test_readme.py compares the
README's blocks of MLIR with what irc prints.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from drawing import long

import irc_frontend as ir
from irc.language import parse

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

TUTORIAL = "docs/first-tile-pass.md"
"""test_tutorial.py runs all of its blocks, in a copy of the checkout."""

DENSE = """
dim M = 64, K = 32, N = 16

func dense(x: f32[M, K], w: f32[K, N], b: f32[N]) -> f32[M, N] {
    return relu(x @ w + b)
}
"""
LOSS = """
func loss(x: f32[8, 4], w: f32[4, 2], b: f32[2]) -> f32[] {
    return mean((x @ w + b) ** 2)
}
"""

BEFORE = {
    ("README.md", "ir.value_and_grad(loss)(params, x, y)"): """
        params = {"w": np.ones((4, 2), np.float32), "b": np.zeros(2, np.float32)}
        x, y = np.ones((8, 4), np.float32), np.zeros((8, 2), np.float32)
        """,
    ("README.md", "torch.compile"): """
        import pytest
        torch = pytest.importorskip("torch")
        model = torch.nn.Linear(4, 4)
        """,
    ("docs/torch.md", "torch.compile"): """
        import pytest
        torch = pytest.importorskip("torch")
        model, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
        """,
    ("docs/torch.md", "explain(model, x)"): """
        from irc_frontend.torch import explain
        model = torch.nn.Linear(4, 4)
        """,
    ("docs/kernels.md", "matmul(x, w)"): """
        import numpy as np
        x = w = np.eye(64, dtype=np.float32)
        """,
    ("docs/kernels.md", "@softmax.gradient"): """
        @ir.kernel
        def softmax(x):
            out = ir.empty_like(x)
            for m in ir.tiles(x.shape[0]):
                out[m] = ir.softmax(x[m], axis=1)
            return out
        """,
    ("docs/language.md", "parse(text"): f"text = {DENSE!r}",
    ("docs/simulator.md", 'target="sim"'): f"""
        import numpy as np
        import irc
        text = {DENSE!r}
        arrays = [np.ones(shape, np.float32) for shape in ((64, 32), (32, 16), (16,))]
        """,
    ("docs/training.md", "for x, y in batches"): """
        import numpy as np
        batches = [(np.ones((8, 64), np.float32), np.arange(8))] * 2
        """,
    ("docs/training.md", "class Mlp"): "from dataclasses import dataclass",
    ("docs/training.md", "nn.Batch()"): """
        @dataclass(frozen=True)
        class Normed(nn.Layer):
            norm: nn.BatchNorm
            scores: nn.Linear

            def __call__(self, params, x, batch=None):
                return self.scores(params["scores"], self.norm(params["norm"], x, batch))

        model = Normed(nn.BatchNorm(64), nn.Linear(64, 10))
        params, (x, labels) = model.init(0), batches[0]
        state = optimizer.init(params)
        """,
}
"""What a page takes for granted, by the page and what is in the block."""


class Block(NamedTuple):
    """number: of the page's blocks; line: of its fence; why_not: why it does not run."""

    page: str
    number: int
    line: int
    language: str
    code: str
    why_not: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    fences = re.finditer(
        r"^(?:<!-- not run: (?P<why>.*?) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$", text, re.M | re.S
    )
    for number, found in enumerate(fences):
        line = text[: found.start("language")].count("\n") + 1
        name = str(page.relative_to(ROOT))
        yield Block(name, number, line, found["language"], found["code"], found["why"])


ALL = [block for page in PAGES for block in blocks(page)]
RUN = [block for block in ALL if block.why_not is None]


def of(language: str) -> list[Block]:
    return [block for block in RUN if block.language == language]


def test_every_block_is_of_a_language_that_runs_or_says_why_not() -> None:
    assert len(ALL) == sum(len(re.findall(r"^```", page.read_text(), re.M)) for page in PAGES) / 2
    languages = {"python", "irc", "sh", "text", "c"}  # test_native.py compiles what is in C
    compared = {("README.md", "mlir"), *((TUTORIAL, language) for language in ("", "mlir", "python"))}
    unknown = [b for b in RUN if b.language not in languages and (b.page, b.language) not in compared]
    assert [f"{block.page}:{block.line}: {block.language}" for block in unknown] == []
    assert all(block.why_not for block in ALL if block.why_not is not None)


@pytest.mark.parametrize("page", dict.fromkeys(b.page for b in of("python") if b.page != TUTORIAL))
def test_programs_in_python_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files, since kernels are read from their source."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    values: dict[str, Any] = {"__name__": "page"}
    with ir.target("cpu"):
        for block in of("python"):
            if block.page == page:
                before = [code for (name, text), code in BEFORE.items() if name == page and text in block.code]
                for part, code in enumerate([*before, block.code]):
                    path = tmp_path / f"block_{block.number}_{part}.py"
                    path.write_text(dedent(code))
                    exec(compile(path.read_text(), str(path), "exec"), values)


@pytest.mark.parametrize("block", of("irc"), ids=lambda b: f"{b.page}:{b.line}")
def test_programs_of_the_language_are_right(block: Block) -> None:
    """Dims that a page has said before are those of its first program."""
    dims = "" if re.search(r"^dim", block.code, re.M) else "dim N = 64, K = 32, M = 16\n"
    parse(dims + block.code, block.page).verify()


@long(3)
@pytest.mark.parametrize("block", of("sh"), ids=lambda b: f"{b.page}:{b.line}")
def test_commands_run(block: Block, tmp_path: Path) -> None:
    """FILE is a program."""
    if block.page == TUTORIAL:
        pytest.skip("test_tutorial.py runs them")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "dense.irc").write_text(DENSE)
    (tmp_path / "first.irc").write_text(next((b.code for b in of("irc") if b.page == block.page), DENSE))
    (tmp_path / "loss.irc").write_text(LOSS)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in block.code.splitlines():
        words = [str(tmp_path / "dense.irc") if word == "FILE" else word for word in shlex.split(line, comments=True)]
        done = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, f"{block.page}:{block.line}: {line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
