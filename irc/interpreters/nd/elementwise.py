"""What the elementwise ops mean: what their table says, and conversions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.declared import is_deferred
from irc.dialects.nd.table import ROWS
from irc.interpreters.nd.base import Array, Precision, convert, meaning, wide
from irc.ir.dtypes import element_of


@meaning(*ROWS)
def _function(op: nd.Elementwise, args: Sequence[Array], precision: Precision) -> Array:
    return ROWS[type(op)].numpy(*map(wide, args), **op.options())


@meaning(nd.CastOp)
def _cast(op: nd.CastOp, args: Sequence[Array], precision: Precision) -> Array:
    """A widening cast keeps the carried digits, and so does one that the user did not write; every other one rounds."""
    source, target = element_of(op.x.type), element_of(op.result.type)
    if is_deferred(op) and precision != "program" and target.is_float:
        return args[0]
    if source.is_float and target.is_float and source.size < target.size:
        return args[0]
    return convert(args[0], target.dtype)


@meaning(nd.BitcastOp)
def _bitcast(op: nd.BitcastOp, args: Sequence[Array], precision: Precision) -> Array:
    bits: Array = np.asarray(convert(args[0], element_of(op.x.type).dtype), order="C")
    return bits.view(element_of(op.result.type).dtype)
