"""Division of integers as C has it, of which ONNX and StableHLO speak: towards 0."""

from __future__ import annotations

import irc_frontend as ir
from irc_frontend.tensor import Tensor


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """a / b, of integers rounded towards 0."""
    if not a.node.is_integer:
        return a / b
    floor = a // b
    if a.element == "u8":
        return floor
    return ir.where((floor * b != a) & ((a < 0) != (b < 0)), floor + 1, floor)


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """What that leaves, with the sign of a."""
    return a - quotient(a, b) * b if a.node.is_integer else ir.fmod(a, b)
