"""The access of a tile-level load, store or copy, for the analyses of irc.layout.access."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from irc.analysis.index_values import multiple_of
from irc.dialects.tile import AccessOp, shape_of
from irc.ir.dtypes import element_of
from irc.layout.access import MemoryAccess


def access_of(op: AccessOp) -> MemoryAccess:
    view = op.view_type
    return MemoryAccess(
        op.access_map,
        view.get_shape(),
        view.get_strides(),
        frozenset(op.checked_dims),
        element_of(view.element_type).size,
        view.alignment,
        tuple(multiple_of(o) for o in op.offsets),
        tuple(multiple_of(s) if isinstance(s.type, IndexType) else 1 for s in op.symbols),
        tuple(_gathered(s) for s in op.symbols),
    )


def _gathered(symbol: SSAValue) -> frozenset[int]:
    """The tile dimensions along which a symbol changes."""
    if isinstance(symbol.type, IndexType):
        return frozenset()
    return frozenset(d for d, extent in enumerate(shape_of(symbol.type)) if extent > 1)
