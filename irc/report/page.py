"""One HTML file of reports: nothing in it is loaded from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from irc.report.changes import Change
from irc.report.columns import Column, Line
from irc.report.counts_page import simulated
from irc.report.kernels_page import kernels
from irc.report.markup import Markup, element, joined
from irc.report.program import ProgramReport

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A browser loads nothing, whatever the texts hold."""


def page(programs: Sequence[ProgramReport]) -> str:
    """The file's text."""
    title = f"irc: {', '.join(program.name for program in programs)}"
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        element("title", title),
        element("style", Markup(_resource("page.css"))),
    )
    body = element(
        "body",
        *(_program(number, program, programs) for number, program in enumerate(programs)),
        element("script", Markup(_resource("page.js"))),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _resource(name: str) -> str:
    return files("irc.report").joinpath(name).read_text(encoding="utf-8")


def _program(number: int, program: ProgramReport, programs: Sequence[ProgramReport]) -> Markup:
    tabs = {
        "levels": _levels(program),
        "passes": _passes(program.changes),
        "kernels": kernels(program.kernels),
        "simulator": simulated(program.counts, program.columns[0], number),
    }
    shown = {name: content for name, content in tabs.items() if content}
    buttons = [element("button", name, type="button", data_tab=name) for name in shown]
    sections = [element("section", content, class_=f"tab {name}", data_tab=name) for name, content in shown.items()]
    bar = element("header", _title(program, programs), element("nav", *buttons, class_="tabs"))
    return element("main", bar, *sections, class_="program", id=f"program{number}")


def _title(program: ProgramReport, programs: Sequence[ProgramReport]) -> Markup:
    """The name; where there are several programs, all of them to choose from."""
    if len(programs) == 1:
        return joined([element("h1", program.name), element("p", program.target)])
    options = [
        element("option", f"{number + 1}: {each.name}", value=number, selected="" if each is program else None)
        for number, each in enumerate(programs)
    ]
    return joined([element("select", *options, class_="programs"), element("p", program.target)])


def _levels(program: ProgramReport) -> Markup:
    toggles = [
        element("button", column.title, type="button", data_column=column.name, aria_pressed="true")
        for column in program.columns
    ]
    help = element("p", "Click a line to see where it comes from and what became of it.", class_="help")
    bar = element("div", *toggles, help, class_="toggles")
    return joined([bar, element("div", *map(_column, program.columns), class_="columns")])


def _column(column: Column) -> Markup:
    note = element("p", column.note, class_="note") if column.note else Markup()
    lines = element("div", *map(_line, column.lines), class_="code", tabindex=0)
    return element("article", element("h2", column.title), note, lines, class_="column", data_column=column.name)


def _line(line: Line) -> Markup:
    places = " ".join(f"{place.line}:{place.column}" for place in line.places)
    mark = element("i", line.mark) if line.mark else Markup()
    return element("div", line.text or " ", mark, class_="l", data_p=places or None)


def _passes(changes: Sequence[Change]) -> Markup:
    if not changes:
        return Markup()
    longest = max(change.seconds for change in changes) or 1.0
    total, idle = sum(change.seconds for change in changes), sum(not change.lines for change in changes)
    summary = f"{len(changes)} passes in {_duration(total)}; {idle} found nothing to do and are gray."
    return joined([element("p", summary, class_="help"), *(_pass(change, longest) for change in changes)])


def _pass(change: Change, longest: float) -> Markup:
    bar = element("span", class_="bar", style=f"--share:{change.seconds / longest:.3f}")
    counts = [element("ins", f"+{change.added}"), element("del", f"\N{MINUS SIGN}{change.removed}")]
    row = [
        element("b", change.name),
        element("span", *(counts if change.lines else []), class_="counts"),
        bar,
        element("i", _duration(change.seconds)),
    ]
    if not change.lines:
        return element("div", *row, class_="pass idle")
    kinds = {"+": "added", "-": "removed", "@": "left-out"}
    lines = [element("div", line, class_=f"l {kinds.get(line[0], '')}".strip()) for line in change.lines]
    return element("details", element("summary", *row, class_="pass"), element("div", *lines, class_="code diff"))


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
