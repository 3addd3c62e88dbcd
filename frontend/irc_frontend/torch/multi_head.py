"""torch's multi-head attention, which torch's compiler traces as one function: the attention in it becomes irc's when
AOTAutograd takes the function apart.

`nn.MultiheadAttention`, and the layers of `nn.Transformer`, call it. Asked for weights, as the first is by default, it
is products and a softmax, which need no op.
"""

from __future__ import annotations

import math
from types import FunctionType

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.traceback import annotate

from irc_frontend.torch.dropout import words_of
from irc_frontend.torch.masks import Seen
from irc_frontend.torch.retargeting import retarget
from irc_frontend.torch.rules import REASON, Left
from irc_frontend.torch.scaled_dot_product import expect_known, expect_known_dropout, expect_quick


def with_own_heads(module: GraphModule) -> GraphModule:
    """A graph of torch's functions whose multi-head attention calls irc's; also in graphs that it holds."""
    return retarget(module, multi_head_attention, F.multi_head_attention_forward)


def _attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False
) -> Tensor:
    """Attention as torch's multi-head attention calls it, in torch's place: q[batch, heads, S, D], of the type that its
    products have."""
    seen, scale = Seen(is_causal, None), 1 / math.sqrt(q.shape[-1])
    try:
        expect_known_dropout(dropout_p)
        expect_known([q, k, v], mask, q)
        is_trained = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
        expect_quick([q, k, v], mask, q.dtype, seen, scale, dropout_p, is_trained)
    except Left as reason:
        with annotate({REASON: reason.message}):
            return F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    # Its heads are put beside each other, behind queries and batches.
    words = words_of(q) if dropout_p else None
    return torch.ops.irc.attention(q, k, v, mask, words, is_causal, None, scale, dropout_p, [2, 0, 1])[0]


multi_head_attention = FunctionType(
    F.multi_head_attention_forward.__code__,
    {
        **F.multi_head_attention_forward.__globals__,
        "__name__": __name__,  # where graphs that call it say that it is
        "scaled_dot_product_attention": _attention,
        "has_torch_function": lambda _: False,  # else modes, of which tracing has one, would get torch's own
    },
    "multi_head_attention",
    F.multi_head_attention_forward.__defaults__,
)
"""`F.multi_head_attention_forward` with irc's attention in place of torch's."""
