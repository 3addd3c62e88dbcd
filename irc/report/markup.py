"""HTML as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | float | None) -> Markup:
    """An element. Children that are no Markup are escaped. Attributes that are None are left out; `class_` is `class`,
    `data_p` is `data-p`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Several, one after another."""
    return Markup("".join(child if isinstance(child, Markup) else escape(child, quote=False) for child in children))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int, chosen: int = -1) -> Markup:
    """A table whose columns from `numbers_from` on hold numbers; row `chosen` stands out."""
    head = element("tr", *(element("th", name) for name in columns))

    def cell(at: int, text: str) -> Markup:
        return element("td", text, class_="number" if at >= numbers_from else None)

    body = [
        element("tr", *(cell(at, text) for at, text in enumerate(row)), class_="chosen" if number == chosen else None)
        for number, row in enumerate(rows)
    ]
    return element("div", element("table", element("thead", head), element("tbody", *body)), class_="scroll")
