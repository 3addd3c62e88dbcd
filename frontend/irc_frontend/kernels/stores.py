"""What is stored of a value: in the element type of the array, and the shape of the tile that is written."""

from __future__ import annotations

from typing import Any

from irc_frontend.elementwise import astype, broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.kernels.access import TileAccess
from irc_frontend.tensor import Tensor


def stored(value: Any, array: Tensor, access: TileAccess) -> Node:
    """What is stored, in the array's element type and the shape of the tile that is written."""
    node = value.node if isinstance(value, Tensor) else Tensor(value, array.element).node
    if node.element != array.element:
        if not (node.is_float and array.node.is_float):
            raise fail(
                f"an array of {array.element} is given a tile of {node.element}",
                f"cast it: tile.astype({array.element!r})",
            )
        node = astype(node, array.element)
    shape = access.stored_shape
    if node.shape != shape:
        if node.rank > len(shape) or any(a not in (1, b) for a, b in zip(node.shape[::-1], shape[::-1], strict=False)):
            raise fail(
                f"a place of {list(shape)} is given a tile of {list(node.shape)}",
                "their extents agree, or the tile's is 1",
            )
        node = broadcast_to(node, shape)
    return access.squeezed(node)
