"""The training step of GPT-2 (124 million parameters), as a user of `irc_frontend` writes it, on which compile
times are measured: `python -m irc_tools.gpt2_step` compiles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import irc_frontend as ir
from irc.driver.compiler import compile_artifact
from irc.support.garbage import seldom_collecting
from irc_frontend import nn, optim
from irc_frontend.build import build_module
from irc_frontend.graph import ARGUMENT, Node, sorted_nodes
from irc_frontend.tensor import Tensor

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

WIDTH, HEADS, LAYERS, VOCABULARY, DTYPE = 768, 12, 12, 50257, "bf16"


@dataclass(frozen=True)
class Gpt2(nn.Layer):
    """i64[batch, positions] -> f32[batch, positions, vocabulary]; the table of words gives the scores too."""

    words: nn.Embedding
    positions: nn.Embedding
    blocks: tuple[nn.TransformerBlock, ...]
    last: nn.LayerNorm

    def __call__(self, params: nn.Params, text: Any) -> ir.Tensor:
        x = self.words(params["words"], text) + params["positions"]["table"][: text.shape[-1]]
        for block, own in zip(self.blocks, params["blocks"], strict=True):
            x = block(own, x)
        return self.last(params["last"], x) @ params["words"]["table"].T


def gpt2(positions: int, layers: int = LAYERS) -> Gpt2:
    block = nn.TransformerBlock(WIDTH, HEADS, dtype=DTYPE)
    words, places = nn.Embedding(VOCABULARY, WIDTH, dtype=DTYPE), nn.Embedding(positions, WIDTH, dtype=DTYPE)
    return Gpt2(words, places, (block,) * layers, nn.LayerNorm(WIDTH, dtype=DTYPE))


def step_module(batch: int = 16, positions: int = 1024, layers: int = LAYERS) -> ModuleOp:
    """Forward pass, backward pass and the update of AdamW, as one function of nd ops."""
    model, optimizer = gpt2(positions, layers), optim.AdamW(3e-4)
    params = model.init(0)
    state = (params, optimizer.init(params))
    arguments: list[Node] = []

    def argument(leaf: Any) -> Tensor:
        arguments.append(Node(ARGUMENT, (), leaf.shape, leaf.element))
        return Tensor.of(arguments[-1])

    params, memory = ir.tree_map(argument, state)
    text, following = (argument(ir.zeros([batch, positions], "i64")) for _ in range(2))
    loss, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, text), following))(params)
    gradients, _ = optim.clip_by_global_norm(gradients, 1.0)
    updated = optimizer.update(params, gradients, memory)
    roots = [leaf.node for leaf in ir.tree_leaves((*updated, loss))]
    return build_module(sorted_nodes([*arguments, *roots]), roots, arguments)


if __name__ == "__main__":
    with seldom_collecting():  # as irc_frontend.jit records
        compile_artifact(step_module(), arch="sm_90a")
