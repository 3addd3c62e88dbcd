"""Layouts as grids: which thread holds an element of a tile, and in which banks of shared memory it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.layout.fragment import Fragment
from irc.layout.shared import SharedLayout

ROWS, COLUMNS = 16, 64
"""Of a tile's corner that is drawn."""

NARROW_COLUMNS = 32
"""The same where a cell has one element, and needs more room."""

LANES, BANKS, BANK_BYTES = 32, 32, 4


@dataclass(frozen=True)
class Cell:
    """Neighbors in a row that one thread holds, or that lie one after another in 16 bytes of shared memory. hue: of 32.
    shade: 0 to 3, of the warp of a warp group. text: inside; title: all about it."""

    row: int
    column: int
    width: int
    hue: int
    shade: int
    text: str
    title: str


@dataclass(frozen=True)
class Drawing:
    """A layout of tiles. title: its type. text: as IR has it. rows, columns: of what is drawn."""

    title: str
    text: str
    note: str
    rows: int
    columns: int
    cells: Sequence[Cell]


def drawings(program: Operation) -> list[Drawing]:
    """Of all layouts of a tile program, each once for each type of its tiles."""
    types: dict[Attribute, None] = {}
    for op in program.walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            types |= dict.fromkeys(_tiles_in(value.type))
    found = (_drawing(type) for type in types)
    return [drawing for drawing in found if drawing is not None]


def _tiles_in(type: Attribute) -> Iterator[Attribute]:
    """The tiles of a channel's stage, a dot in flight, or a tile itself."""
    if isinstance(type, tile.ChannelType):
        yield from type.buffers
    elif isinstance(type, tile.PendingType):
        yield type.tile
    elif isinstance(type, tile.BufferType | TensorType):
        yield type


def _drawing(type: Attribute) -> Drawing | None:
    if isinstance(type, TensorType) and isinstance(type.encoding, tile.FragmentAttr):
        shape = tuple(type.get_shape())
        return _of_fragment(
            _type_text(shape, type), str(type.encoding), Fragment.from_layout(shape, type.encoding.data)
        )
    if isinstance(type, tile.BufferType) and isinstance(type.layout, tile.SharedAttr):
        size = element_of(tile.element_type_of(type)).size
        return _of_shared(_type_text(type.get_shape(), type), str(type.layout), type.layout.data, size)
    return None


def _type_text(shape: Sequence[int], type: TensorType | tile.BufferType) -> str:
    return f"{' x '.join(map(str, shape))} {element_of(tile.element_type_of(type)).name}"


def _corner(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns that are drawn of a tile: of its last two dimensions, at the first coordinates of the others."""
    rows, columns = (1, 1, *shape)[-2:]
    return min(rows, ROWS), min(columns, COLUMNS)


def _of_fragment(title: str, text: str, fragment: Fragment) -> Drawing:
    rows, columns = _corner(fragment.shape)
    thread, value = np.indices((fragment.thread_count, fragment.value_count)).reshape(2, -1)
    at = [np.broadcast_to(each, thread.shape) for each in fragment.coordinates(thread, value)]
    at = [np.zeros_like(thread)] * (2 - len(at)) + at
    is_drawn = (at[-2] < rows) & (at[-1] < columns)
    for outer in at[:-2]:
        is_drawn &= outer == 0
    holders: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, j, t, v in zip(*(each[is_drawn].tolist() for each in (at[-2], at[-1], thread, value)), strict=True):
        holders.setdefault((i, j), []).append((t, v))
    if columns > NARROW_COLUMNS and any(_is_alone(holders, row) for row in range(rows)):
        columns = NARROW_COLUMNS
    cells = [cell for row in range(rows) for cell in _row_of_fragment(row, columns, holders)]
    copies = max(map(len, holders.values()), default=1)
    note = f"{fragment.thread_count} threads of {fragment.value_count} elements"
    note += f", each element in {copies} threads, of which the first is drawn" if copies > 1 else ""
    return Drawing(title, text, note, rows, columns, cells)


def _is_alone(holders: dict[tuple[int, int], list[tuple[int, int]]], row: int) -> bool:
    """Whether the first two elements of a row are of different threads."""
    first, second = ([thread for thread, _ in holders.get((row, column), ())] for column in (0, 1))
    return first[:1] != second[:1]


def _row_of_fragment(row: int, columns: int, holders: dict[tuple[int, int], list[tuple[int, int]]]) -> Iterator[Cell]:
    begin = 0
    while begin < columns:
        if (row, begin) not in holders:
            begin += 1
            continue
        thread = holders[row, begin][0][0]
        end = begin + 1
        while end < columns and (row, end) in holders and holders[row, end][0][0] == thread:
            end += 1
        values = [holders[row, at][0][1] for at in range(begin, end)]
        title = f"row {row}, columns {begin} to {end - 1}: thread {thread}, its elements {', '.join(map(str, values))}"
        yield Cell(row, begin, end - begin, thread % LANES, thread // LANES % 4, f"{thread}", title)
        begin = end


def _of_shared(title: str, text: str, layout: SharedLayout, size: int) -> Drawing:
    """`size`: bytes of an element."""
    rows, columns = _corner(layout.shape)
    cells = [cell for row in range(rows) for cell in _row_of_shared(row, columns, layout, size)]
    if all(cell.width == 1 for cell in cells):
        columns = min(columns, NARROW_COLUMNS)
        cells = [cell for cell in cells if cell.column < columns]
    note = f"{layout.size * size} bytes; colors are banks, of which neighbors in a column should differ"
    return Drawing(title, text, note, rows, columns, cells)


def _row_of_shared(row: int, columns: int, layout: SharedLayout, size: int) -> Iterator[Cell]:
    outer = (0,) * (len(layout.shape) - 2)
    at = [layout((*outer, row, column)[-len(layout.shape) :]) * size for column in range(columns)]
    begin = 0
    while begin < columns:
        end = begin + 1
        while end < columns and at[end] == at[end - 1] + size and at[end] // 16 == at[begin] // 16:
            end += 1
        yield _shared_cell(row, begin, end, at[begin], at[end - 1] + size)
        begin = end


def _shared_cell(row: int, begin: int, end: int, first: int, last: int) -> Cell:
    """Elements in the bytes from `first` to `last`."""
    bank, until = first // BANK_BYTES % BANKS, (last - 1) // BANK_BYTES % BANKS
    banks = f"{bank}" if bank == until else f"{bank}-{until}"
    title = f"row {row}, columns {begin} to {end - 1}: banks {banks}, bytes {first} to {last - 1}"
    return Cell(row, begin, end - begin, bank, 0, banks, title)
