"""A small GPT of characters, trained on Python's own help texts (`pydoc_data.topics`), which then writes some.

python examples/train_gpt.py --out gpt
"""

from __future__ import annotations

from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from loop import options, train

import irc_frontend as ir
from irc_frontend import nn, optim

BATCH = 16
CONTEXT = 64
WIDTH = 64
HEADS = 4
BLOCKS = 2
HELD_OUT = 0.05
"""The share of the text that is not trained on."""

WRITTEN = 300
"""Characters that the trained model writes."""


@dataclass(frozen=True)
class Gpt(nn.Layer):
    """i64[batch, positions] -> f32[batch, positions, characters]: scores of the next character at each position."""

    characters: nn.Embedding
    positions: nn.Embedding
    blocks: tuple[nn.TransformerBlock, ...]
    last: nn.LayerNorm
    scores: nn.Linear

    def __call__(self, params: nn.Params, text: Any) -> ir.Tensor:
        x = self.characters(params["characters"], text) + params["positions"]["table"][: text.shape[-1]]
        for block, own in zip(self.blocks, params["blocks"], strict=True):
            x = block(own, x)
        return self.scores(params["scores"], self.last(params["last"], x))


def gpt(characters: int) -> Gpt:
    return Gpt(
        nn.Embedding(characters, WIDTH),
        nn.Embedding(CONTEXT, WIDTH),
        (nn.TransformerBlock(WIDTH, HEADS),) * BLOCKS,
        nn.LayerNorm(WIDTH),
        nn.Linear(WIDTH, characters, bias=False),
    )


def corpus() -> tuple[str, Any]:
    """The characters that occur, and the text as their numbers, i64[...]."""
    text = "\n\n".join(topics[name] for name in sorted(topics))
    characters = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(characters)}
    return characters, np.array([numbers[character] for character in text])


def windows(text: Any, starts: Any) -> tuple[Any, Any]:
    """Stretches of the text, and for each character the one after it: two of i64[len(starts), CONTEXT]."""
    places = starts[:, None] + np.arange(CONTEXT)
    return text[places], text[places + 1]


def batch_of(text: Any, seed: int, number: int) -> tuple[Any, Any]:
    """What the step of this number is trained on."""
    return windows(text, np.random.default_rng((seed, number)).integers(0, len(text) - CONTEXT, BATCH))


def training_step(model: Gpt, optimizer: optim.Optimizer) -> Any:
    """The forward pass, the backward pass and the update, as one program."""

    @ir.jit(donate=0)
    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        value, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(state["params"])
        gradients, _ = optim.clip_by_global_norm(gradients, 1.0)
        params, memory = optimizer.update(state["params"], gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    return step


def held_out_loss(model: Gpt, params: Any, text: Any) -> float:
    """The mean over stretches of the text, one after the other."""
    loss = ir.jit(lambda params, x, y: nn.cross_entropy(model(params, x), y))
    starts = np.arange(0, len(text) - CONTEXT, CONTEXT)
    parts = [starts[i : i + BATCH] for i in range(0, len(starts) - BATCH + 1, BATCH)]
    return float(np.mean([loss(params, *windows(text, part)).item() for part in parts]))


def write(model: Gpt, params: Any, characters: str, count: int, seed: int) -> str:
    """Characters that follow a line break, each drawn from what the model expects after those before it."""
    scores = ir.jit(lambda params, text: ir.softmax(model(params, text)))
    rng, text = np.random.default_rng(seed), [characters.index("\n")]
    for _ in range(count):
        seen = text[-CONTEXT:]
        padded = np.array([seen + [0] * (CONTEXT - len(seen))])  # later positions are not seen by earlier ones
        expected = scores(params, padded).numpy()[0, len(seen) - 1].astype(np.float64)
        text.append(int(rng.choice(len(characters), p=expected / expected.sum())))
    return "".join(characters[number] for number in text[1:])


def main(argv: list[str] | None = None) -> float:
    """The loss on the held out text, in nats a character."""
    how = options(__doc__, 1000, argv)
    characters, text = corpus()
    split = int(len(text) * (1 - HELD_OUT))
    model, optimizer = gpt(len(characters)), optim.AdamW(optim.warmup(50, optim.cosine(4e-3, how.steps)), decay=0.1)
    with ir.target(how.target):
        params = model.init(how.seed)
        state = {"params": params, "optimizer": optimizer.init(params)}
        state, _ = train(
            training_step(model, optimizer), state, lambda number: batch_of(text[:split], how.seed, number), how
        )
        loss = held_out_loss(model, state["params"], text[split:])
        print(write(model, state["params"], characters, WRITTEN, how.seed))
    print(f"held out text: {loss:.3f} nats a character")
    return loss


if __name__ == "__main__":
    main()
