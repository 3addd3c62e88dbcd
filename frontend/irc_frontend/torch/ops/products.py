"""Rules of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from string import ascii_lowercase
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.elementwise import Number
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


@rule(aten.bmm.default, aten.mv.default, aten.dot.default, aten.vdot.default)
def _product(a: Tensor, b: Tensor) -> Tensor:
    if a.element == "bool":
        return (a.astype("i32") @ b.astype("i32")) != 0
    if a.element == "f32":
        return ir.matmul(a, b, precision=_PRECISIONS[torch.get_float32_matmul_precision()])
    return a.astype("i64") @ b.astype("i64") if a.element in ("i8", "u8", "i16") else a @ b


_PRECISIONS = {"highest": "default", "high": "tf32", "medium": "bf16"}
"""How products of f32 are made, by what torch.set_float32_matmul_precision says."""


@rule(aten.mm.default)
def _mm(a: Tensor, b: Tensor) -> Tensor:
    return _product(_unmerged(a), b).reshape(a.shape[0], b.shape[1])


@rule(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def _add_product(x: Tensor, a: Tensor, b: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Any:
    is_row = b.ndim == 2 and (x.ndim == 1 or (x.ndim == 2 and x.shape[0] == 1))
    product = _product(_unmerged(a) if is_row else a, b)
    total = product if alpha == 1 else product * alpha
    if beta:
        added = x.reshape(x.shape[-1]) if is_row else x
        total = total + (added if beta == 1 else added * beta)
    return total.reshape(*a.shape[:-1], *b.shape[b.ndim - 1 :]) if is_row else total


def _unmerged(x: Tensor) -> Tensor:
    """x, a matrix, with the axes apart that a view merged into its rows. torch multiplies matrices alone; work on the
    axes apart, before the view and after another one back, fuses with a product that has them too."""
    if x.node.op != "reshape":
        return x
    shape = next(iter(x.node.operands)).shape
    counts = list(accumulate(shape, mul))
    axes = counts.index(x.shape[0]) + 1 if x.shape[0] in counts else 0
    return x.reshape(*shape[:axes], x.shape[1]) if axes > 1 else x


@rule(aten._grouped_mm.default)
def _grouped_mm(
    a: Tensor, b: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: torch.dtype | None = None
) -> Tensor:
    """Rows that no group has are 0, where torch leaves what memory had."""
    if bias is not None or out_dtype not in (None, torch.bfloat16):
        raise Left("a grouped product with a bias, or of another type than bf16")
    if offs is None:
        return a @ b
    if a.ndim == 3:  # columns are in groups: the rows of the transposed product
        return ir.grouped_matmul(b.T, a.permute(0, 2, 1), offs).T
    return ir.grouped_matmul(a, b, offs)


@rule(aten.addbmm.default)
def _addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Any:
    """x and the sum of the products, which is one product over the batch too."""
    count, rows, inner = a.shape
    left, right = a.permute(1, 0, 2).reshape(rows, count * inner), b.reshape(count * inner, b.shape[2])
    return _add_product(x, left, right, beta=beta, alpha=alpha)


@rule(aten._trilinear.default)
def _trilinear(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three arrays, each without some of the axes, summed over some."""
    letters = ascii_lowercase[: a.ndim + len(expand1)]

    def without(axes: Sequence[int]) -> str:
        return "".join(letter for axis, letter in enumerate(letters) if axis not in axes)

    operands = ",".join(without(axes) for axes in (expand1, expand2, expand3))
    return ir.einsum(f"{operands}->{without(sumdim)}", wide(a), wide(b), wide(c))
