"""Two GPUs: numbers against one GPU, one trace of both, and the throughput of GPT-2's training step.

python -m irc_tools.launch -n 2 tests/gpu_distributed/two_gpus.py numbers trace throughput
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.runtime.trace import Trace, tracing
from irc_frontend import nn, optim
from irc_tools.gpt2_step import VOCABULARY, Gpt2, gpt2

BY = {
    "*.attention.outputs.weight": ("model",),
    "*.up.weight": (None, "model"),
    "*.up.bias": ("model",),
    "*.down.weight": ("model",),
}
POSITIONS = 1024


def training_step(model: Gpt2, optimizer: optim.Optimizer) -> Callable[..., Any]:
    def step(state: Any, text: Any, following: Any) -> Any:
        value, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, text), following))(state["params"])
        params, memory = optimizer.update(state["params"], gradients, state["memory"])
        return {"params": params, "memory": memory}, value

    return step


def beginning(model: Gpt2, optimizer: optim.Optimizer) -> Any:
    params = ir.tree_map(lambda leaf: leaf.to("cuda"), model.init(0))
    return {"params": params, "memory": ir.tree_map(lambda leaf: leaf.to("cuda"), optimizer.init(params))}


def words(batch: int, positions: int) -> tuple[Any, Any]:
    text = np.random.default_rng(0).integers(0, VOCABULARY, (batch, positions + 1))
    return text[:, :-1], text[:, 1:]


def numbers() -> None:
    """Three steps over data, and over tensors, beside those of this GPU alone."""
    model, optimizer = gpt2(64, layers=2), optim.SGD(0.1, momentum=0.9)
    x, y = words(8, 64)
    state = beginning(model, optimizer)
    losses: list[float] = []
    alone = ir.jit(training_step(model, optimizer))
    for _ in range(3):
        state, loss = alone(state, x, y)
        losses.append(loss.item())
    for sizes, by in (({"data": 2}, {}), ({"data": 1, "model": 2}, BY)):
        mesh = ir.mesh(**sizes)
        step = ir.jit(training_step(model, optimizer), mesh=mesh, donate=0)
        found = ir.shard(beginning(model, optimizer), mesh, by=by)
        for expected in losses:
            found, loss = step(found, ir.shard(x, mesh, "data"), ir.shard(y, mesh, "data"))
            assert abs(loss.item() - expected) < 2e-3 * abs(expected), (sizes, loss.item(), expected)
        for a, b in zip(ir.tree_leaves(found), ir.tree_leaves(state), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0.05, atol=5e-3)
        if mesh.rank == 0:
            print(f"numbers: {mesh!r} as one GPU, losses {losses}", flush=True)


def large(mesh: ir.Mesh | None, batch: int) -> tuple[Any, Any, Any, Any]:
    """A step of GPT-2, its state, and a batch of so many on each GPU."""
    model, optimizer = gpt2(POSITIONS), optim.AdamW(3e-4)
    state, (x, y) = beginning(model, optimizer), words(batch * (mesh.size if mesh else 1), POSITIONS)
    if mesh is None:
        return (
            ir.jit(training_step(model, optimizer), donate=0),
            state,
            ir.Tensor(x).to("cuda"),
            ir.Tensor(y).to("cuda"),
        )
    x, y = (ir.shard(ir.Tensor(each).to("cuda"), mesh, "data") for each in (x, y))
    return ir.jit(training_step(model, optimizer), mesh=mesh, donate=0), ir.shard(state, mesh), x, y


def timed(mesh: ir.Mesh | None, batch: int, steps: int = 10) -> float:
    """Median seconds of a step, of several runs of `steps`."""
    step, state, x, y = large(mesh, batch)
    state = repeated(step, state, x, y, 3)
    found: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        state = repeated(step, state, x, y, steps)
        found.append((time.perf_counter() - begin) / steps)
    return float(np.median(found))


def repeated(step: Any, state: Any, x: Any, y: Any, steps: int) -> Any:
    """The state after some steps, which are waited for."""
    for _ in range(steps - 1):
        state, _ = step(state, x, y)
    state, loss = step(state, x, y)
    loss.item()
    return state


def throughput(batch: int, given_out: AbstractContextManager[None]) -> None:
    """Words a second of two GPUs beside those of one. given_out: what the program of two is compiled in."""
    mesh = ir.mesh(data=2)
    one = timed(None, batch)
    with given_out:
        two = timed(mesh, batch)
    if mesh.rank == 0:
        each = batch * POSITIONS
        print(f"one GPU: {one * 1e3:.2f} ms a step, {each / one:.0f} words/s", flush=True)
        print(f"two GPUs: {two * 1e3:.2f} ms a step, {2 * each / two:.0f} words/s", flush=True)
        print(f"throughput: {2 * one / two:.3f} times one GPU's", flush=True)


def trace(path: Path, batch: int) -> None:
    """One file of both GPUs, and how much of the collectives runs beside kernels."""
    mesh = ir.mesh(data=2)
    step, state, x, y = large(mesh, batch)
    state = repeated(step, state, x, y, 3)
    with tracing() as found:
        repeated(step, state, x, y, 1)
    mesh.save_trace(found, path)
    share = overlapped(found)
    print(f"rank {mesh.rank}: {share:.0%} of the time of collectives is beside kernels", flush=True)
    if mesh.rank == 0:
        events = json.loads(path.read_text())["traceEvents"]
        processes = {event["pid"] for event in events}
        collectives = [event for event in events if event.get("cat") == "collective"]
        print(f"{path}: {len(events)} events of ranks {sorted(processes)}, {len(collectives)} collectives", flush=True)


def overlapped(trace: Trace) -> float:
    """The share of the time of collectives in which a kernel of this GPU runs."""
    kernels = [(span.begin, span.end) for span in trace.spans if span.kind == "kernel"]
    spans = [span for span in trace.spans if span.kind == "collective"]
    beside = 0.0
    for span in spans:
        edges = sorted((max(a, span.begin), min(b, span.end)) for a, b in kernels if a < span.end and b > span.begin)
        last = span.begin
        for a, b in edges:
            beside += max(0.0, b - max(a, last))
            last = max(last, b)
    return beside / max(sum(span.seconds for span in spans), 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["numbers", "trace", "throughput"])
    parser.add_argument("--batch", type=int, default=8, help="texts of 1024 words on each GPU")
    parser.add_argument("--sharing", action="store_true", help="two GPUs give tiles out while kernels run")
    parser.add_argument("--out", type=Path, default=Path("two_gpus.json"), help="the trace")
    given = parser.parse_args()
    with ir.target("cuda"):
        for part in given.parts:
            if part == "numbers":
                numbers()
            elif part == "trace":
                trace(given.out, given.batch)
            else:
                throughput(given.batch, ir.sharing_gpu() if given.sharing else nullcontext())


if __name__ == "__main__":
    main()
