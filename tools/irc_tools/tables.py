"""Tables of kernels, arrays and errors, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from irc.runtime.artifact import ArraySpec

if TYPE_CHECKING:
    from irc.runtime.profile import ProfileEntry


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1, width: int = 140
) -> None:
    """Prints a table; the columns from `numbers_from` on are set flush right. `width` is that of a file; a terminal has
    its own."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index >= numbers_from else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = width
    console.print(title)
    console.print(table)


def kernel_columns(times: dict[str, float] | None = None) -> list[str]:
    """The columns of `kernel_row`."""
    columns = ["kernel", "anchor", "tile", "grid", "block", "shared", "registers", "spills", "work", "read", "written"]
    return columns if times is None else [*columns, "time", "rate"]


def kernel_row(kernel: dict[str, Any], times: dict[str, float] | None = None) -> list[str]:
    """A kernel of the manifest; `times` are seconds of all its launches by the kernel's name."""
    row = [
        kernel["name"],
        kernel["anchor"] or "-",
        "x".join(str(n) for n in kernel["config"].get("tile", {}).values()) or "-",
        "x".join(str(n) for n in _trimmed(kernel["grid"])),
        "x".join(str(n) for n in _trimmed(kernel["block"])),
        size(kernel["shared_memory"]),
        *("-" if kernel[name] is None else str(kernel[name]) for name in ("registers", "spills")),
        amount(kernel["flops"], "FLOP"),
        size(kernel["bytes_read"]),
        size(kernel["bytes_written"]),
    ]
    if times is None:
        return row
    seconds = times.get(kernel["name"])
    return [*row, "-", "-"] if not seconds else [*row, duration(seconds), _rate(kernel, seconds / kernel["sets"])]


def part_row(part: ProfileEntry, total: float) -> list[str]:
    """A part of a profile; `total` is the seconds of all of them."""
    return [
        part.name,
        str(part.launches),
        duration(part.seconds),
        f"{part.seconds / total:.0%}" if total else "-",
        size(part.bytes),
        f"{size(part.bytes_per_second)}/s",
        amount(part.flops, "FLOP"),
        f"{amount(part.flops_per_second, 'FLOP')}/s",
        "-" if part.share is None else f"{part.share:.0%}",
        " ".join(name.removeprefix("nd.") for name in dict.fromkeys(part.ops)),
        part.location,
    ]


def _trimmed(extents: Sequence[int]) -> list[int]:
    """Extents without the ones at the end."""
    kept = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _rate(kernel: dict[str, Any], seconds: float) -> str:
    if kernel["anchor"] in ("matmul", "conv", "attention"):
        return f"{amount(kernel['flops'] / seconds, 'FLOP')}/s"
    return f"{size((kernel['bytes_read'] + kernel['bytes_written']) / seconds)}/s"


def array_text(spec: ArraySpec) -> str:
    """`x: bf16[4096, 512]`."""
    return f"{spec.name}: {spec.type}"


def size(count: float) -> str:
    """Bytes in decimal units: `33.6 MB`."""
    return amount(count, "B")


def amount(count: float, unit: str) -> str:
    """A count with a decimal prefix and three digits: `275 GFLOP`."""
    for prefix in ("", "k", "M", "G", "T", "P"):
        if abs(count) < 999.5:
            digits = f"{count:.0f}" if prefix == "" else f"{count:.3g}"
            return f"{digits} {prefix}{unit}"
        count /= 1000
    return f"{count:.3g} E{unit}"


def duration(seconds: float) -> str:
    """`12.3 us`, `4.56 ms`, `1.23 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"
