"""What the ops that make arrays mean."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.base import integer, shape_of
from irc.interpreters.nd.base import Array, Precision, meaning
from irc.ir import philox
from irc.ir.dtypes import element_of
from irc.ir.rounding import cast_array


@meaning(nd.ConstantOp)
def _constant(op: nd.ConstantOp, args: Sequence[Array], precision: Precision) -> Array:
    return op.array()


@meaning(nd.IotaOp)
def _iota(op: nd.IotaOp, args: Sequence[Array], precision: Precision) -> Array:
    shape, axis = shape_of(op.result), integer(op.axis)
    indices = cast_array(np.arange(shape[axis], dtype=np.int64), element_of(op.result.type).dtype)
    return np.broadcast_to(indices.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


@meaning(nd.ExtentOp)
def _extent(op: nd.ExtentOp, args: Sequence[Array], precision: Precision) -> Array:
    return np.full(shape_of(op.result), op.extent.value.data, np.int64)


@meaning(nd.RandomNormalOp, nd.RandomUniformOp)
def _random(op: nd.RandomNormalOp | nd.RandomUniformOp, args: Sequence[Array], precision: Precision) -> Array:
    shape, double = shape_of(op.result), element_of(op.result.type).size == 8
    draw = philox.normal if isinstance(op, nd.RandomNormalOp) else philox.uniform
    return draw(int(args[0]), prod(shape), double).reshape(shape)
