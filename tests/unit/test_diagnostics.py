"""Diagnostics: places, quoted lines, carets, notes and hints."""

from __future__ import annotations

from pathlib import Path
from traceback import format_exception_only

import pytest
from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, NameLoc, NoneAttr, StringAttr, UnknownLoc

from irc.ir.locations import describe, innermost, text_locations
from irc.support.diagnostics import LONGEST_LINE, IrcError, Span, labels, register_source, render, source_line

SOURCE = "dim M = 4\nfunc f(x: f32[M]) -> f32[M] {\n    h = x ** w1 + b1\n\treturn g(h)\n}\n"


@pytest.fixture(autouse=True)
def source() -> None:
    register_source("t.irc", SOURCE)


def test_a_span_is_underlined_exactly() -> None:
    error = IrcError("cannot add f32[4] and f32[5]", Span("t.irc", 3, 9, 21), "broadcast one of them")
    assert render(error) == (
        "t.irc:3:9: error: cannot add f32[4] and f32[5]\n"
        "    h = x ** w1 + b1\n"
        "        ^^^^^^^^^^^^\n"
        "hint: broadcast one of them"
    )


def test_python_shows_the_line_and_the_hint_of_an_error_that_nobody_catches() -> None:
    error = IrcError("cannot add f32[4] and f32[5]", Span("t.irc", 3, 9, 21), "broadcast one of them")
    error.add_note("in step 3")
    shown = "".join(format_exception_only(error))
    assert shown == (
        "irc.IrcError: t.irc:3:9: cannot add f32[4] and f32[5]\n"
        "    h = x ** w1 + b1\n"
        "        ^^^^^^^^^^^^\n"
        "hint: broadcast one of them\n"
        "in step 3\n"
    )
    assert "".join(format_exception_only(IrcError("no place"))) == "irc.IrcError: no place\n"


@pytest.mark.parametrize(
    ("line", "column", "caret"),
    [
        (3, 5, "    ^"),
        (3, 11, "          ^^"),
        (3, 14, "             ^^"),
        (2, 1, "^^^^"),
        (4, 2, "\t^^^^^^"),
        (3, 99, "                    ^"),
    ],
)
def test_a_bare_location_underlines_its_token(line: int, column: int, caret: str) -> None:
    assert render(IrcError("m", Span("t.irc", line, column).location())).split("\n")[2] == caret


def test_without_a_place_there_is_only_the_message() -> None:
    assert render(IrcError("no GPU")) == "error: no GPU"
    assert render(IrcError("no GPU", UnknownLoc(), "use --target cpu")) == "error: no GPU\nhint: use --target cpu"


def test_a_source_that_is_not_at_hand_is_not_quoted() -> None:
    assert render(IrcError("m", Span("nowhere.irc", 3, 1))) == "nowhere.irc:3:1: error: m"
    assert render(IrcError("m", Span("t.irc", 300, 1))) == "t.irc:300:1: error: m"


def test_an_inlined_call_names_both_places() -> None:
    location = CallSiteLoc(Span("t.irc", 3, 5).location(), Span("t.irc", 4, 9).location())
    assert render(IrcError("m", location)).split("\n") == [
        "t.irc:3:5: error: m",
        "    h = x ** w1 + b1",
        "    ^",
        "t.irc:4:9: note: called from here",
        "\treturn g(h)",
        "\t       ^",
    ]


def test_a_fused_location_names_its_parts_once() -> None:
    first, second = Span("t.irc", 3, 5).location(), Span("t.irc", 2, 6).location()
    location = FusedLoc(ArrayAttr([first, second, first]), NoneAttr())
    text = render(IrcError("m", location))
    assert text.startswith("t.irc:3:5: error: m\n")
    assert text.count("t.irc:3:5") == 1
    assert "t.irc:2:6: note: merged with this" in text


def test_locations_are_found_in_any_nesting() -> None:
    inner = Span("a.irc", 1, 2).location()
    call = CallSiteLoc(NameLoc(StringAttr("n"), inner), Span("b.irc", 3, 4).location())
    fused = FusedLoc(ArrayAttr([call, Span("c.irc", 5, 6).location()]), NoneAttr())
    assert innermost(fused) == inner
    assert describe(fused) == "a.irc:1:2"
    assert [loc.filename.data for loc in text_locations(fused)] == ["a.irc", "b.irc", "c.irc"]
    assert [str(place.span) for place in labels(fused)] == ["a.irc:1:2", "b.irc:3:4", "c.irc:5:6"]
    assert innermost(UnknownLoc()) is None
    assert describe(UnknownLoc()) == "?"


def test_the_message_has_its_place_as_a_string() -> None:
    assert str(IrcError("m", Span("t.irc", 3, 5).location())) == "t.irc:3:5: m"
    assert str(IrcError("m")) == "m"


def test_long_lines_are_cut_around_the_caret() -> None:
    register_source("long.mlir", "a" * 500 + " here " + "b" * 500)
    _, quoted, caret = render(IrcError("m", Span("long.mlir", 1, 502, 506))).split("\n")
    assert len(quoted) <= LONGEST_LINE + 6
    assert quoted[caret.index("^") :].startswith("here")
    assert caret.count("^") == 4


def test_a_file_is_quoted_without_registering(tmp_path: Path) -> None:
    path = tmp_path / "p.irc"
    path.write_bytes(b"one\r\ntwo \xff\n")
    assert source_line(str(path), 1) == "one"
    assert source_line(str(path), 2) == "two \ufffd"
    assert source_line(str(path), 9) is None


def test_a_registered_source_goes_before_a_file(tmp_path: Path) -> None:
    path = tmp_path / "q.irc"
    path.write_text("from the file\n")
    register_source(str(path), "registered\n")
    assert source_line(str(path), 1) == "registered"
