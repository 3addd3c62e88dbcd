"""The generated reference pages are those of the definitions."""

from __future__ import annotations

from pathlib import Path

from irc.driver.pipelines import DIALECTS, PASSES
from irc.driver.universe import resolve
from irc_tools.docs import main, pages, stale

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_up_to_date() -> None:
    assert stale(DOCS) == [], "`make docs` writes them"


def test_every_op_and_pass_is_there() -> None:
    found = pages()
    for name in DIALECTS:
        page = found[f"dialects/{name}.md"]
        for op in resolve(DIALECTS[name]).operations:
            assert f"### `{op.name}`\n" in page
            assert (op.__dict__.get("__doc__") or "").strip(), f"{op.name} has a docstring"
    assert all(f"\n## {name}\n" in found["passes.md"] for name in PASSES)


def test_stale_pages_are_found_and_written(tmp_path: Path) -> None:
    assert main(["-o", str(tmp_path)]) == 0
    assert stale(tmp_path) == []
    page = tmp_path / "passes.md"
    page.write_text(page.read_text() + "more\n")
    assert stale(tmp_path) == ["passes.md"]
    assert main(["-o", str(tmp_path), "--check"]) == 1
