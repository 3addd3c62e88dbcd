"""A record as a picture: for every row, the speed of each variant beside the row's first bar."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irc.support.diagnostics import IrcError
from irc.support.files import written_aside
from irc_tools.bench.bars import LIMITS
from irc_tools.bench.record import Record, RowRecord
from irc_tools.bench.statistics import opponent, spread

ENDINGS = (".svg", ".png")

COLORS = {
    "irc": "#1b6ca8",
    "copy": "#999999",
    "read": "#666666",
    "eager": "#e3b23c",
    "compile": "#d1603d",
    "max-autotune": "#8d3b72",
    "reduce-overhead": "#5d8a66",
    "triton": "#2f8f9d",
    "rival": "#444444",
    "launches": "#777777",
    "bound": "#70a1d7",
}


def check_plot(path: Path) -> None:
    """IrcError where a plot could not be written: asked before anything is measured."""
    if path.suffix not in ENDINGS:
        raise IrcError(f"--plot {path}: expected a file that ends in .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise IrcError("--plot needs matplotlib, which is not installed", hint="pip install 'irc-compiler[bench]'")


def write_plot(path: Path, record: Record) -> None:
    """Horizontal bars: a variant's speed over that of what the row's first bar is against. A black tick is that bar.

    Rows without times, or without a bar of a ratio that could be judged, are left out."""
    check_plot(path)
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    rows = [drawn for row in record.rows if (drawn := _drawn(row)) is not None]
    variants = [name for name in record.variants() if name not in LIMITS]
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.15 * len(rows) * (len(variants) + 1)))
    height = 0.8 / len(variants)
    for number, variant in enumerate(variants):
        places = [index + number * height for index in range(len(rows))]
        speeds = [row.speeds.get(variant, 0) for row in rows]
        axes.barh(places, speeds, height, label=variant, color=COLORS[variant])
    for index, row in enumerate(rows):
        axes.plot([row.bar, row.bar], [index - height / 2, index + 0.8 - height / 2], color="black", linewidth=1)
    axes.set_yticks([index + 0.4 - height / 2 for index in range(len(rows))], [row.label for row in rows], fontsize=8)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.5, linestyle=":")
    axes.set_xlabel("speed relative to what is named behind each row; ticks are bars")
    axes.set_title(f"{record.title}\n{record.machine.get('gpu', '')} {record.machine.get('date', '')}", fontsize=10)
    figure.legend(loc="upper left", fontsize=8)
    figure.tight_layout()
    with written_aside(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=100)
    pyplot.close(figure)


@dataclass(frozen=True)
class Drawn:
    """A row's label, its bar as a ratio of speeds, and the variants' speeds over the bar's opponent."""

    label: str
    bar: float
    speeds: dict[str, float]


def _drawn(row: RowRecord) -> Drawn | None:
    for bar, found in row.verdicts():
        other = opponent(bar.against, row.times)
        if found is None or other is None or bar.relation != "of":
            continue
        reference = spread(row.times[other]).median
        speeds = {name: reference / spread(times).median for name, times in row.times.items()}
        return Drawn(f"{row.name} / {bar.against}", 1 / bar.value if bar.of_time else bar.value, speeds)
    return None
