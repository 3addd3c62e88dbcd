"""The kernels of a program as HTML: tables, grids and timelines."""

from __future__ import annotations

from collections.abc import Sequence

from irc.report.kernels import Alternatives, KernelReport
from irc.report.layouts import Drawing
from irc.report.markup import Markup, element, joined, table
from irc.report.timeline import Segment, Timeline

NARROW, WIDE = 8, 17
"""Pixels of an element in a grid: where several share a cell, and where one needs room for the number of a thread."""


def kernels(reports: Sequence[KernelReport]) -> Markup:
    """A part for each kernel."""
    return joined(map(_kernel, reports))


def _kernel(report: KernelReport) -> Markup:
    parts = [element("h2", report.name)]
    sides = [
        element("div", element("h3", title), table(("", ""), rows, numbers_from=1), class_="facts")
        for title, rows in (("Config", report.config), ("Resources", report.resources))
        if rows
    ]
    parts.append(element("div", *sides, class_="sides"))
    if report.alternatives is not None:
        parts.append(_alternatives(report.alternatives))
    if report.timeline is not None and report.timeline.rows:
        parts.append(_timeline(report.timeline))
    if report.drawings:
        parts.append(element("h3", "Layouts"))
        parts.append(element("div", *map(_drawing, report.drawings), class_="drawings"))
    return element("article", *parts, class_="kernel", id=f"kernel-{report.name}")


def _alternatives(found: Alternatives) -> Markup:
    help = (
        f"{len(found.rows)} of {found.count} configs, ranked by the model that a tuner begins with: estimates, nothing "
    )
    help += "was timed. The colored one is the kernel's, by the heuristic, a tuner or the program."
    return joined(
        [
            element("h3", "Alternatives"),
            element("p", help, class_="help"),
            table(found.columns, found.rows, numbers_from=1, chosen=found.chosen),
        ]
    )


def _timeline(found: Timeline) -> Markup:
    cycles = max(found.cycles, 1.0)
    rows = [
        element(
            "div",
            element("b", name),
            element("div", *(_segment(segment, cycles) for segment in segments), class_="track"),
            class_="lane",
        )
        for name, segments in found.rows
    ]
    notes = [f"About {found.cycles:.0f} cycles of a block, by a model of who waits for whom: nothing was timed."]
    notes.append("Orange moves data, green multiplies, blue computes, striped waits.")
    if found.is_cut:
        notes.append("Of loops and tiles the first are shown.")
    if found.is_stuck:
        notes.append("It ends where a partition waits for what is not shown.")
    return joined(
        [
            element("h3", "Pipeline"),
            element("p", " ".join(notes), class_="help"),
            element("div", *rows, class_="timeline"),
        ]
    )


def _segment(segment: Segment, cycles: float) -> Markup:
    begin, width = segment.begin / cycles * 100, (segment.end - segment.begin) / cycles * 100
    title = f"{segment.text}: cycles {segment.begin:.0f} to {segment.end:.0f}"
    kind = segment.text.split(" ")[0]
    return element(
        "span", class_=f"segment {segment.kind} {kind}", title=title, style=f"left:{begin:.3f}%;width:{width:.3f}%"
    )


def _drawing(drawing: Drawing) -> Markup:
    cells = [
        element(
            "span",
            cell.text,
            title=cell.title,
            style=f"grid-area:{cell.row + 1}/{cell.column + 1}/auto/span {cell.width};"
            f"--hue:{cell.hue * 360 // 32};--shade:{cell.shade}",
        )
        for cell in drawing.cells
    ]
    unit = NARROW if all(cell.width > 1 for cell in drawing.cells) else WIDE
    grid = element("div", *cells, class_="grid", style=f"--columns:{drawing.columns};--unit:{unit}px")
    corner = f"rows 0 to {drawing.rows - 1}, columns 0 to {drawing.columns - 1}"
    return element(
        "figure",
        element("figcaption", element("b", drawing.title), " ", element("code", drawing.text)),
        element("p", f"{drawing.note}; {corner}", class_="help"),
        element("div", grid, class_="scroll"),
    )
