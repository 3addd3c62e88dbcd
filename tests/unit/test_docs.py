"""The generated reference pages are those of the definitions; the others name what there is."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from irc.dialects.kernel.config import checks
from irc.driver.lowering import run_passes
from irc.driver.pipelines import DIALECTS, PASSES
from irc.driver.program import parse
from irc.driver.universe import resolve
from irc_tools.docs import main, pages, stale
from irc_tools.pass_help import invariants_of

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = [DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


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


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_links_and_files_are_there(page: Path) -> None:
    text = page.read_text()
    for link in re.findall(r"\]\(([^()\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link
    files = re.findall(r"`((?:irc|frontend|tools|tests|docs|benchmarks|examples)/[\w/.\-]+\.\w+)`", text)
    made = {
        "irc/passes/tile/drop_identity_maps.py",
        "tests/lit/tile/drop_identity_maps.mlir",
    }  # by the tutorial's reader
    assert [file for file in files if file not in made and not (DOCS.parent / file).exists()] == []


def test_the_numbers_of_the_heuristic_and_their_fields_are_there() -> None:
    rows = re.findall(
        r"^\| ((?:`[A-Z_]+`,? ?)+of .*?) \|.*\| (`.*`) \|$", (DOCS / "tuning.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 9
    for numbers, fields in rows:
        names, paths = re.findall(r"`([A-Z_]+)`", numbers), re.findall(r"`((?:irc|frontend)/[\w/.]+)`", numbers)
        assert paths
        for path in paths:
            text = (DOCS.parent / path).read_text()
            assert [name for name in names if not re.search(rf"^{name}\b", text, re.MULTILINE)] == [], path
        assert {field.partition(".")[0] for field in re.findall(r"`([\w.]+)`", fields)} <= checks().keys()


def _rows(page: Path) -> dict[str, list[set[str]]]:
    """What the page's table says that each pass requires and establishes."""
    rows = re.findall(r"^\| (`[^|]*`) \|([^|]*)\|([^|]*)\|", page.read_text(), re.MULTILINE)
    columns = ((passes, [set(re.findall(r"\*([\w-]+)\*", cell)) for cell in cells]) for passes, *cells in rows)
    return {name: found for passes, found in columns for name in re.findall(r"`([^`]+)`", passes)}


def test_the_pages_of_the_levels_have_what_passes_require_and_establish() -> None:
    stated = dict(chain.from_iterable(_rows(page).items() for page in (DOCS / "levels").glob("*.md")))
    for name in PASSES:
        declared = [{each.name for each in part} for part in invariants_of(name)]
        assert not any(declared) or stated[name] == declared, name


def test_the_pass_of_the_tutorial_does_what_the_tutorial_shows() -> None:
    blocks: list[tuple[str, str]] = re.findall(
        r"```(\w+)\n(.*?)```", (DOCS / "first-tile-pass.md").read_text(), re.DOTALL
    )
    code = next(text for language, text in blocks if language == "python")
    given, made, _ = (text for language, text in blocks if language == "mlir")
    values: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, "first-tile-pass.md", "exec"), values)
    module = parse(given, "same.mlir")
    run_passes(module, [values["DropIdentityMapsPass"]()])
    assert module.is_structurally_equivalent(parse(made, "dropped.mlir"))
