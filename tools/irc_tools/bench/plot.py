"""A record as a picture: for every row, the speed of each variant relative to the first bar's limit or peer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from irc.diagnostics import IrcError
from irc.files import written_aside
from irc_tools.bench.bars import LIMITS
from irc_tools.bench.record import Record, RowRecord
from irc_tools.bench.statistics import IRC

ENDINGS = (".svg", ".png")

COLOURS = {
    "irc": "#1b6ca8",
    "copy": "#999999",
    "read": "#666666",
    "eager": "#e3b23c",
    "compile": "#d1603d",
    "max-autotune": "#8d3b72",
    "reduce-overhead": "#5d8a66",
}


def check_plot(path: Path) -> None:
    """IrcError where a plot could not be written: asked before anything is measured."""
    if path.suffix not in ENDINGS:
        raise IrcError(f"--plot {path}: expected a file that ends in .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise IrcError("--plot needs matplotlib, which is not installed", hint="pip install 'irc[bench]'")


def write_plot(path: Path, record: Record) -> None:
    """Horizontal bars: a variant's speed over the reference's, which is the copy in suites that are shown as bandwidth
    and the fastest peer in the others. A tick marks each row's bars against it."""
    check_plot(path)
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    rows = [row for row in record.rows if row.times]
    variants = [name for name in record.variants() if name not in LIMITS]
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.22 * len(rows) * (len(variants) + 1)))
    height = 0.8 / max(1, len(variants))
    for number, variant in enumerate(variants):
        places = [index + number * height for index in range(len(rows))]
        speeds = [_relative(record, row, variant) for row in rows]
        axes.barh(places, speeds, height, label=variant, color=COLOURS[variant])
    for index, row in enumerate(rows):
        for bar in row.verdicts():
            if bar[0].against in ("copy", "best"):
                reach = 1 / bar[0].value if bar[0].of_time else bar[0].value
                axes.plot([reach, reach], [index - height / 2, index + 0.8 - height / 2], color="black", linewidth=1)
    axes.set_yticks([index + 0.4 - height / 2 for index in range(len(rows))], [row.name for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.5, linestyle=":")
    reference = "a copy of the same bytes" if record.show == "bandwidth" else "the best peer"
    axes.set_xlabel(f"speed relative to {reference}")
    axes.set_title(f"{record.title}\n{record.machine.get('gpu', '')} {record.machine.get('date', '')}", fontsize=10)
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    with written_aside(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=120)
    pyplot.close(figure)


def _relative(record: Record, row: RowRecord, variant: str) -> float:
    """A variant's speed over the reference's; 0 where either is missing."""
    peers = [row.spread(name) for name in row.times if name not in (*LIMITS, IRC)]
    times = [row.spread("copy")] if record.show == "bandwidth" else peers
    mine, known = row.spread(variant), [found.median for found in times if found is not None]
    return 0.0 if mine is None or not known else min(known) / mine.median
