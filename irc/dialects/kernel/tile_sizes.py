"""Tile sizes of a `#kernel.config`: elements of a tile, by the names of dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

ORDER = ("m", "n", "k", "d", "r", "s", "result", "operand")
"""In which sizes are written."""


class TileSizes(Mapping[str, int]):
    """`{m = 128, n = 256, k = 64}`: immutable, and equal to others with the same sizes."""

    __slots__ = ("_sizes",)

    def __init__(self, sizes: Mapping[str, int] | None = None, /, **named: int):
        given = {**(sizes or {}), **named}
        self._sizes = {name: given[name] for name in sorted(given, key=_place)}

    def __getitem__(self, name: str) -> int:
        return self._sizes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __hash__(self) -> int:
        return hash(tuple(self._sizes.items()))

    def __str__(self) -> str:
        return f"{{{', '.join(f'{name} = {size}' for name, size in self._sizes.items())}}}"

    __repr__ = __str__

    def completed(self, chosen: Mapping[str, int]) -> TileSizes:
        """These sizes, with those of other names taken from others."""
        return TileSizes({**chosen, **self._sizes})

    def agrees(self, other: Mapping[str, int]) -> bool:
        """Whether the names that both have are of the same sizes."""
        return all(self.get(name, size) == size for name, size in other.items())


def _place(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name
