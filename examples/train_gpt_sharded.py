"""The small GPT of train_gpt.py, trained on several ranks: over data, over tensors, or over both.

python -m irc_tools.launch -n 2 examples/train_gpt_sharded.py --data 2
python -m irc_tools.launch -n 4 examples/train_gpt_sharded.py --data 2 --model 2
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from train_gpt import batch_of, corpus, gpt

import irc_frontend as ir
from irc_frontend import nn, optim

DIVIDED = {
    "*.attention.outputs.weight": ("model",),
    "*.up.weight": (None, "model"),
    "*.up.bias": ("model",),
    "*.down.weight": ("model",),
}
"""What is divided along `model`, of the parameters and of what the optimizer keeps of each."""


def main(argv: list[str] | None = None) -> float:
    """The loss of the last step, in nats a character."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=int, default=1, help="ranks that have a part of each batch (%(default)s)")
    parser.add_argument("--model", type=int, default=1, help="ranks that have a part of each block (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="training steps (%(default)s)")
    how = parser.parse_args(argv)
    mesh = ir.mesh(data=how.data, model=how.model)
    characters, text = corpus()
    model, optimizer = gpt(len(characters)), optim.AdamW(4e-3, decay=0.1)

    @ir.jit(mesh=mesh, donate=0)
    def step(state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        value, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["optimizer"])
        return {"params": params, "optimizer": memory}, value

    params = model.init(0)
    state = ir.shard({"params": params, "optimizer": optimizer.init(params)}, mesh, by=DIVIDED)
    loss, begin = 0.0, time.perf_counter()
    for number in range(how.steps):
        x, y = (ir.shard(each, mesh, "data") for each in batch_of(text, 0, number))
        state, value = step(state, x, y)
        loss = value.item()
        if number == 0:
            begin = time.perf_counter()
    if mesh.rank == 0:
        seconds = (time.perf_counter() - begin) / max(how.steps - 1, 1)
        print(f"{mesh!r}: {loss:.3f} nats a character after {how.steps} steps of {seconds * 1e3:.0f} ms")
    return loss


if __name__ == "__main__":
    main()
