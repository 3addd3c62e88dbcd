"""Windows of convolutions and pools: ONNX's padding and its way to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from irc.support.diagnostics import IrcError


class Window(TypedDict, total=False):
    """The attributes by which operators say where their windows lie."""

    auto_pad: str
    dilations: list[int]
    pads: list[int]
    strides: list[int]


@dataclass(frozen=True)
class Along:
    """The windows along one axis. low, high: places without an element that windows may have before and behind those of
    the array; last: as many behind it as the last window needs, in ceil mode."""

    extent: int
    size: int
    step: int
    apart: int
    low: int
    high: int
    last: int
    count: int


def windows(extents: Sequence[int], sizes: Sequence[int], ceil_mode: int = 0, **how: Unpack[Window]) -> list[Along]:
    """Those of each axis of space; sizes are those of a window."""
    rank, ones = len(extents), [1] * len(extents)
    steps, apart, both = how.get("strides", ones), how.get("dilations", ones), how.get("pads", [0] * 2 * rank)
    if not len(sizes) == len(steps) == len(apart) == rank or len(both) != 2 * rank:
        raise IrcError(f"expected kernels, strides and dilations of {rank} numbers, and pads of {2 * rank}")
    if min([*both, 0]) < 0 or min([*steps, *apart, *sizes, 1]) < 1:
        raise IrcError("pads are not negative; kernels, strides and dilations are positive")
    found: list[Along] = []
    for axis, (extent, size, step, gap) in enumerate(zip(extents, sizes, steps, apart, strict=True)):
        reach = (size - 1) * gap + 1
        low, high = _padding(how.get("auto_pad", ""), extent, reach, step, both[axis], both[rank + axis])
        room = extent + low + high - reach
        count = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (count - 1) * step >= extent + low:  # the last window would begin behind the elements
            count -= 1
        if count < 1:
            raise IrcError(f"windows of {reach} places do not fit into {extent} elements with their padding")
        last = max(0, (count - 1) * step + reach - extent - low)
        found.append(Along(extent, size, step, gap, low, high, last if ceil_mode else high, count))
    return found


def _padding(auto_pad: str, extent: int, reach: int, step: int, low: int, high: int) -> tuple[int, int]:
    if auto_pad in ("NOTSET", ""):
        return low, high
    if auto_pad == "VALID":
        return 0, 0
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise IrcError(f"auto_pad {auto_pad} is not known", hint="NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    total = max(0, (-(-extent // step) - 1) * step + reach - extent)
    less = total // 2
    return (less, total - less) if auto_pad == "SAME_UPPER" else (total - less, less)
