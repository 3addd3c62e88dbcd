"""What recording needs of the table of elementwise ops (`irc.dialects.nd.table`): the types, and PyTorch's names. The
table imports xDSL, so irc's cache keeps this part of it for processes that record programs which the cache knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from irc.support.cache import key_of, read, write

KIND = "elementwise"
"""Of the entry in irc's cache."""


@dataclass(frozen=True)
class Row:
    """What an op takes and gives. takes: names of element types; kind: what messages call them. aten: PyTorch's op."""

    takes: list[str]
    kind: str
    is_test: bool
    aten: str


@cache
def rows() -> Mapping[str, Row]:
    """The row of each op by its name without `nd.`."""
    key = key_of(KIND, Path(__file__).read_bytes())
    if (known := read(KIND, key)) is not None:
        return {name: Row(**fields) for name, fields in json.loads(known).items()}
    found = _of_table()
    write(KIND, key, json.dumps({name: asdict(row) for name, row in found.items()}).encode())
    return found


def _of_table() -> dict[str, Row]:
    from irc.dialects.nd.table import ROWS
    from irc.ir.dtypes import ELEMENTS

    return {
        row.name: Row(
            [element.name for element in ELEMENTS if row.op.TAKES.has(element)],
            row.op.TAKES.name,
            row.op.IS_TEST,
            row.aten,
        )
        for row in ROWS.values()
    }
