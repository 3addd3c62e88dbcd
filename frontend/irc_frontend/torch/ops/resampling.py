"""Rules of antialiased resampling: along one axis after another, a product by the matrix of the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.cubic import far, near
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.pools import multiplied
from irc_frontend.torch.rules import rule

aten = torch.ops.aten

SHARPNESS = -0.5
"""The parameter of the cubic weights of torch's antialiased resampling."""


def _triangle(distance: Tensor) -> Tensor:
    return ir.maximum(1.0 - distance, 0.0)


def _cubic(distance: Tensor) -> Tensor:
    further = ir.where(distance < 2, far(distance, SHARPNESS), 0.0)
    return ir.where(distance < 1, near(distance, SHARPNESS), further)


def _weights(
    extent: int,
    count: int,
    align_corners: bool,
    scale: float | None,
    weight: Callable[[Tensor], Tensor],
    element: str,
) -> Tensor:
    """The matrix by which the count of places comes from the extent: a row has the weights of the elements. Places that
    are more than one element apart take those between them, too."""
    if align_corners:
        apart = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        apart = 1 / scale if scale else extent / count
    centers = (ir.arange(count).astype(element) + 0.5) * apart
    elements = ir.arange(extent).astype(element) + 0.5
    found = weight(abs(elements.reshape(1, -1) - centers.reshape(-1, 1)) / max(1.0, apart))
    return found / found.sum(1, keepdims=True)


def _register(forward: object, backward: object, weight: Callable[[Tensor], Tensor]) -> None:
    @rule(forward)
    def record(
        x: Tensor,
        counts: Sequence[int],
        align_corners: bool,
        scale_rows: float | None = None,
        scale_columns: float | None = None,
    ) -> Tensor:
        total = wide(x)
        for axis, count, scale in ((3, counts[1], scale_columns), (2, counts[0], scale_rows)):
            matrix = _weights(x.shape[axis], count, align_corners, scale, weight, total.element)
            total = multiplied(total, matrix.T, axis)
        return total

    @rule(backward)
    def record_backward(
        grad: Tensor,
        counts: Sequence[int],
        shape: Sequence[int],
        align_corners: bool,
        scale_rows: float | None = None,
        scale_columns: float | None = None,
    ) -> Tensor:
        total = wide(grad)
        for axis, count, scale in ((3, counts[1], scale_columns), (2, counts[0], scale_rows)):
            matrix = _weights(shape[axis], count, align_corners, scale, weight, total.element)
            total = multiplied(total, matrix, axis)
        return total


_register(aten._upsample_bilinear2d_aa.default, aten._upsample_bilinear2d_aa_backward.default, _triangle)
_register(aten._upsample_bicubic2d_aa.default, aten._upsample_bicubic2d_aa_backward.default, _cubic)
