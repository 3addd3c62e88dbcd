"""Attention written out over its scores: products with a softmax between them, which irc makes one kernel of
(`docs/decisions/cascades.md`), for what `nd.attention` does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import irc_frontend as ir
from irc_frontend.casts import deferred
from irc_frontend.linear import contract
from irc_frontend.promotion import accumulator
from irc_frontend.tensor import Tensor
from irc_frontend.torch.dropout import kept


@dataclass(frozen=True)
class Dropout:
    """Dropout of a part `rate` of the weights, which `words` draw, one for each of their rows; none without words."""

    words: Tensor | None = None
    rate: float = 0.0

    def masked(self, x: Tensor) -> Tensor:
        """x[..., S, T] where it is kept, 0 elsewhere."""
        return x if self.words is None else ir.where(self._kept(x), x, 0.0)

    def in_sign(self, x: Tensor) -> Tensor:
        """x[..., S, T] >= 0, negative where it is dropped: whoever has it need not draw again, nor hold what was drawn
        beside it. FlashAttention-2 keeps in the sign, too, what it drops."""
        return x if self.words is None else ir.where(self._kept(x), x, -x)

    def by_sign(self, signed: Tensor, x: Tensor) -> Tensor:
        """x where what `in_sign` gave is kept, 0 elsewhere."""
        return x if self.words is None else ir.where(signed > 0, x, 0.0)

    def kept_of(self, signed: Tensor) -> Tensor:
        """What `in_sign` was given where it is kept, 0 elsewhere."""
        return signed if self.words is None else ir.maximum(signed, 0.0)

    def size(self, signed: Tensor) -> Tensor:
        """What `in_sign` was given."""
        return signed if self.words is None else ir.abs(signed)

    def scaled(self, x: Tensor) -> Tensor:
        """x, as many times as leaves the mean what it was."""
        return x if self.words is None else x * (1 / (1 - self.rate))

    def _kept(self, x: Tensor) -> Tensor:
        assert self.words is not None
        return kept(ir.expand_dims(self.words, -1), ir.arange(x.shape[-1], dtype="i32"), self.rate)


@dataclass(frozen=True)
class Factors:
    """What is multiplied: q[batch..., more..., S, D], k[batch..., T, D] and v[batch..., T, E]. All `more` heads of
    queries share keys and values."""

    q: Tensor
    k: Tensor
    v: Tensor

    @staticmethod
    def of(q: Tensor, k: Tensor, v: Tensor) -> Factors:
        """Of queries whose heads, the extent before the last two, those of keys may divide."""
        return Factors(apart(q, k), k, v)

    @cached_property
    def batches(self) -> int:
        return self.k.ndim - 2

    def scores(self, scale: float) -> Tensor:
        """q k^T * scale, of the operands' type; not rounded to it."""
        element = self.q.element
        return product(self.q, self.k, self.batches, [-1], [-1], element) * scale


def softmax_product(factors: Factors, scores: Tensor, keep: Dropout, hides_rows: bool) -> tuple[Tensor, Tensor]:
    """softmax(scores) v with dropout before the product, and log(sum(exp(scores))) of each row in at least f32. Where
    a row sees nothing, all scores being -inf, they are 0 and -inf."""
    element = scores.element
    largest = scores.max(-1)
    powers = ir.exp(scores - ir.expand_dims(largest, -1))
    total = powers.sum(-1)
    weights = keep.masked(powers * ir.expand_dims(ir.reciprocal(total), -1))
    y = keep.scaled(product(weights, factors.v, factors.batches, [-1], [-2], element))
    sums = deferred(largest + ir.log(total), accumulator(element))
    if not hides_rows:
        return y, sums
    is_hidden = largest == -inf
    return ir.where(ir.expand_dims(is_hidden, -1), 0.0, y), ir.where(is_hidden, -inf, sums)


def hidden(scores: Tensor, bias: Tensor | None, causal: bool, window: int | None) -> Tensor:
    """The scores with what is added to them, and -inf where a query does not see a key."""
    if bias is not None:
        scores = ir.where(bias, scores, -inf) if bias.element == "bool" else scores + deferred(bias, scores.element)
    rows, columns = (ir.arange(extent, dtype="i32") for extent in scores.shape[-2:])
    rows = ir.expand_dims(rows, -1)
    if causal:
        scores = ir.where(columns <= rows, scores, -inf)
    if window is None:
        return scores
    seen = columns > rows - window
    return ir.where(seen if causal else seen & (columns < rows + window), scores, -inf)


def apart(x: Tensor, k: Tensor) -> Tensor:
    """What lies along the queries, with an axis of its own for the heads that share keys, if any do."""
    batch = k.shape[:-2]
    return x if x.shape[: len(batch)] == batch else x.reshape(*batch, -1, *x.shape[len(batch) :])


def bias_apart(bias: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    """The same of what is added to the scores, which it broadcasts to, or says which of them are seen."""
    if bias is None or q.shape[:-2] == k.shape[:-2]:
        return bias
    return apart(ir.broadcast_to(bias, [*q.shape[:-1], k.shape[-2]]), k)


def product(
    a: Tensor, b: Tensor, batches: int, axes_a: Sequence[int], axes_b: Sequence[int], element: str | None = None
) -> Tensor:
    """The product over axes counted from the end, behind so many batches; in f32 for narrow floats, unless said
    otherwise."""
    batch = tuple(range(batches))
    pair_a, pair_b = (tuple(axis % x.ndim for axis in axes) for x, axes in ((a, axes_a), (b, axes_b)))
    element = element or accumulator(a.element)
    return Tensor.of(contract(a.node, b.node, batch, batch, pair_a, pair_b, element))
