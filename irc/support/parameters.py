"""Where the parameters of a launch lie that has several sets of operands: an array of structs, one for each set.

The printer declares the struct and the runtime fills it; both ask here. Nothing of the compiler is imported, so that
the runtime does without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from irc.support.integers import round_up

MAX_BYTES = 4096
"""Of a kernel's parameters (CUDA C++ Programming Guide, function parameters; from sm_70 on newer drivers take more)."""

MAP_BYTES, MAP_ALIGNMENT = 128, 64
"""Of a CUtensorMap."""


def layout_of_set(maps: Sequence[bool]) -> tuple[tuple[int, ...], int]:
    """The byte offset of each parameter of a set, and the bytes of the set. `maps` says of each whether it is a tensor
    map; addresses and numbers take 8 bytes."""
    offsets: list[int] = []
    end, largest = 0, 8
    for is_map in maps:
        size, alignment = (MAP_BYTES, MAP_ALIGNMENT) if is_map else (8, 8)
        offsets.append(round_up(end, alignment))
        end, largest = offsets[-1] + size, max(largest, alignment)
    return tuple(offsets), round_up(end, largest)
