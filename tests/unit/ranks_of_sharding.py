"""What each rank of `test_ranks.py` runs: cases by name, each on ranks that are forked from one process, so that what
they import is imported once."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.runtime.trace import tracing
from irc_frontend import nn, optim

SEEN = np.random.default_rng(1).integers(0, 16, (4, 9))
BY = {
    "*.attention.outputs.weight": ("model",),
    "*.up.weight": (None, "model"),
    "*.up.bias": ("model",),
    "*.down.weight": ("model",),
}


@dataclass(frozen=True)
class Small(nn.Layer):
    """A transformer of one block: i64[batch, positions] -> scores."""

    words: nn.Embedding
    block: nn.TransformerBlock
    scores: nn.Linear

    def __call__(self, params: nn.Params, text: Any) -> ir.Tensor:
        x = self.block(params["block"], self.words(params["words"], text))
        return self.scores(params["scores"], x)


def gpt(mesh: ir.Mesh, by: dict[str, Any]) -> None:
    """Two steps equal those of one process up to the order of sums."""
    model = Small(nn.Embedding(16, 16), nn.TransformerBlock(16, 2), nn.Linear(16, 16))
    optimizer = optim.SGD(0.1, momentum=0.9)
    params = model.init(0)
    state = {"params": params, "memory": optimizer.init(params)}

    def step(state: Any, x: Any, y: Any) -> Any:
        loss, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["memory"])
        return {"params": params, "memory": memory}, loss

    x, y = SEEN[:, :-1], SEEN[:, 1:]
    alone, many = ir.jit(step), ir.jit(step, mesh=mesh, donate=0)
    expected, found = state, ir.shard(state, mesh, by=by)
    before = [(type(leaf), getattr(leaf, "sharding", None)) for leaf in ir.tree_leaves(found)]
    for _ in range(2):
        expected, loss = alone(expected, x, y)
        found, sharded_loss = many(found, ir.shard(x, mesh, "data"), ir.shard(y, mesh, "data"))
        np.testing.assert_allclose(sharded_loss.numpy(), loss.numpy(), rtol=1e-5)
    assert before == [(type(leaf), getattr(leaf, "sharding", None)) for leaf in ir.tree_leaves(found)]
    assert any(isinstance(leaf, ir.Sharded) for leaf in ir.tree_leaves(found)) == bool(by)
    for a, b in zip(ir.tree_leaves(found), ir.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def data() -> None:
    gpt(ir.mesh(data=2), {})


def tensors() -> None:
    gpt(ir.mesh(data=1, model=2), BY)


def both() -> None:
    gpt(ir.mesh(data=2, model=2), BY)


def machine_code() -> None:
    """Narrow floats and a trace, on the target cpu."""
    mesh = ir.mesh(data=2)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    f = ir.jit(lambda x: (x.astype("bf16") @ x.T.astype("bf16"), (x * x).sum(axis=0), x.max()), mesh=mesh)
    with tracing() as trace:
        product, squares, most = f(ir.shard(x, mesh, "data"))
    np.testing.assert_array_equal(product.numpy().astype(np.float32), (x @ x.T).astype(product.dtype))
    np.testing.assert_array_equal(squares.numpy(), (x * x).sum(axis=0))
    assert most.item() == 15
    path = Path(os.environ["IRC_TEST_TRACE"])
    mesh.save_trace(trace, path)
    if mesh.rank == 0:
        events = json.loads(path.read_text())["traceEvents"]
        assert {event["pid"] for event in events if event.get("cat") == "collective"} == {0, 1}


def another_program() -> None:
    mesh = ir.mesh(data=2)
    x = np.ones((4, 2 + mesh.rank), np.float32)
    ir.jit(lambda x: x.sum(), mesh=mesh)(ir.shard(x, mesh, "data"))


def death() -> None:
    mesh = ir.mesh(data=2)
    f = ir.jit(lambda x: x.sum(), mesh=mesh)
    x = ir.shard(np.ones((4, 2), np.float32), mesh, "data")
    assert f(x).item() == 8
    if mesh.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    f(x).item()


def early_end() -> None:
    mesh = ir.mesh(data=2)
    f = ir.jit(lambda x: x.sum(), mesh=mesh)
    x = ir.shard(np.ones((4, 2), np.float32), mesh, "data")
    for _ in range(1 + mesh.rank):
        f(x).item()


def no_mesh() -> None:
    ir.mesh(data=3)


CASES: dict[str, tuple[int, str, Callable[[], None]]] = {
    "data": (2, "interpret", data),
    "tensors": (2, "interpret", tensors),
    "both": (4, "interpret", both),
    "machine_code": (2, "cpu", machine_code),
    "another_program": (2, "interpret", another_program),
    "death": (2, "interpret", death),
    "early_end": (2, "interpret", early_end),
    "no_mesh": (2, "interpret", no_mesh),
}
"""By name: how many ranks, the target, and what each runs."""


def run(name: str) -> None:
    """Runs a case, and prints how its ranks ended."""
    size, target, case = CASES[name]
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    children: list[int] = []
    print(f"== {name}", flush=True)
    for rank in range(size):
        child = os.fork()
        if child == 0:
            os.dup2(1, 2)
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_PORT": str(port)}
            os.environ["IRC_TARGET"] = target
            case()
            print(f"rank {rank} of {name} is done", flush=True)
            sys.exit(0)
        children.append(child)
    begin = time.monotonic()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(f"codes {codes} within {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    import torch.distributed  # pyright: ignore[reportUnusedImport] # noqa: F401

    for each in sys.argv[1:]:
        run(each)
