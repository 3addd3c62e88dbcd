"""Models on several processes: their steps give what one process gives, up to the order of sums."""

from __future__ import annotations

import copy
import importlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo as dynamo
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as DDP
from torch_ranks import on_ranks, start

from irc_frontend.torch import collectives
from irc_frontend.torch.graphs import watching

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORDS, WIDTH = 32, 16
Batch = tuple[torch.Tensor, torch.Tensor]


class Layer(nn.Module):
    """A layer of a GPT, with heads of 4."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        q, k, v = (each(y).unflatten(-1, (-1, 4)).transpose(1, 2) for each in (self.q, self.k, self.v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.layers = nn.ModuleList([Layer() for _ in range(layers)])

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Convolutions(nn.Module):
    """With parameters that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2)
        self.norm, self.head, self.unused = nn.GroupNorm(2, 8), nn.Linear(8, WORDS), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.relu(self.other(F.relu(self.norm(self.one(x))))).mean((2, 3)))


def texts(count: int) -> list[Batch]:
    return [(torch.randint(0, WORDS, (4, 8)), torch.randint(0, WORDS, (4, 8))) for _ in range(count)]


def images(count: int) -> list[Batch]:
    return [(torch.randn(4, 3, 8, 8), torch.randint(0, WORDS, (4,))) for _ in range(count)]


def train(
    run: Callable[..., torch.Tensor],
    model: nn.Module,
    batches: Sequence[Batch],
    *,
    accumulated: Callable[[], Any] | None = None,
    narrow: bool = False,
) -> nn.Module:
    """Steps of AdamW. accumulated: of each two batches the gradients are added up, the first within this."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2, eps=1e-3)
    for number, (x, y) in enumerate(batches):
        is_last = accumulated is None or number % 2 == 1
        with nullcontext() if is_last or accumulated is None else accumulated():
            with torch.autocast("cpu", torch.bfloat16) if narrow else nullcontext():
                loss = F.cross_entropy(run(x).flatten(0, -2).float(), y.flatten())
            loss.backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
    return model


def own(batches: Sequence[Batch], rank: int, world: int) -> list[Batch]:
    """The rank's part of each batch."""
    return [(x.chunk(world)[rank], y.chunk(world)[rank]) for x, y in batches]


def assert_alike(found: nn.Module, reference: nn.Module, tolerance: float = 1e-4) -> None:
    wanted = dict(reference.named_parameters())
    for name, value in found.named_parameters():
        whole = value.full_tensor() if isinstance(value, DTensor) else value
        torch.testing.assert_close(
            whole, wanted[name], rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def data_parallel(rank: int, world: int) -> None:
    torch.manual_seed(0)
    setattr(dist, "_DEFAULT_FIRST_BUCKET_BYTES", 1000)  # noqa: B010 - so that small models have several buckets
    gpt, convolutions, batches, pictures = Gpt(), Convolutions(), texts(4), images(2)
    mine, kinds = own(batches, rank, world), list[str]()

    # The compiler sees DDP: it divides the model by buckets, so that gradients are reduced while others are computed.
    model = DDP(copy.deepcopy(gpt), bucket_cap_mb=0.003)
    with watching(lambda kind, _: kinds.append(kind)):
        train(torch.compile(model, backend="irc"), model, mine, accumulated=model.no_sync)
    assert kinds.count("forward") >= 2
    reference = copy.deepcopy(gpt)
    assert_alike(model.module, train(reference, reference, batches, accumulated=nullcontext))

    # DDP around what is compiled.
    model = copy.deepcopy(gpt)
    train(DDP(torch.compile(model, backend="irc"), static_graph=True), model, mine[:2])
    reference = copy.deepcopy(gpt)
    assert_alike(model, train(reference, reference, batches[:2]))

    # Parameters without gradients, and autocast.
    model = copy.deepcopy(convolutions)
    run = torch.compile(DDP(model, find_unused_parameters=True), backend="irc")
    train(run, model, own(pictures, rank, world), narrow=True)
    reference = copy.deepcopy(convolutions)
    assert_alike(model, train(reference, reference, pictures, narrow=True), 1e-2)


def test_data_parallel_steps_are_those_of_one_process() -> None:
    on_ranks(2, data_parallel)


def sharded(rank: int, world: int) -> None:
    torch.manual_seed(0)
    gpt, batches = Gpt(layers=2), texts(3)
    mesh = init_device_mesh("cpu", (world,))
    reference = copy.deepcopy(gpt)
    train(reference, reference, batches)
    for compiles_layers in (True, False):
        dynamo.reset()
        model = copy.deepcopy(gpt)
        for layer in model.layers:
            if compiles_layers:
                layer.compile(backend="irc")
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        run = model if compiles_layers else torch.compile(model, backend="irc")
        kinds: list[str] = []
        with watching(lambda kind, _, kinds=kinds: kinds.append(kind)):
            train(run, model, own(batches, rank, world))
        assert {"forward", "backward"} <= set(kinds)
        assert_alike(model, reference)


def test_fully_sharded_steps_are_those_of_one_process() -> None:
    on_ranks(2, sharded)


def tensor_parallel(rank: int, world: int) -> None:
    """Two ranks have the parts of a layer, and each of these pairs half of a batch and of the parts."""
    torch.manual_seed(0)
    collectives.MIN_HIDDEN, collectives.BUCKET = 0, 1  # as if it were large
    gpt, batches = Gpt(), texts(2)
    mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("data", "tensor"))
    model, layer = gpt, gpt.layers[0]
    reference = copy.deepcopy(gpt)
    train(reference, reference, batches)
    plan: dict[str, ParallelStyle] = dict.fromkeys(("q", "k", "v", "up"), ColwiseParallel())
    plan |= dict.fromkeys(("out", "down"), RowwiseParallel())
    parallelize_module(layer, mesh["tensor"], plan)
    layer.compile(backend="irc", fullgraph=True)
    for part in (layer, model):
        fully_shard(part, mesh=mesh["data"])
    train(model, model, own(batches, mesh["data"].get_local_rank(), world // 2))
    assert_alike(model, reference)


def test_tensor_parallel_steps_are_those_of_one_process() -> None:
    on_ranks(4, tensor_parallel)


def dying(rank: int, world: int, said: str) -> None:
    @torch.compile(backend="irc")
    def total(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    x = torch.ones(4)
    assert total(x).tolist() == [1 + 2 * world] * 4
    if rank == 1:
        os._exit(3)
    try:
        total(x)
    except RuntimeError as error:
        Path(said).write_text(str(error))
        time.sleep(30)


def test_a_rank_that_dies_ends_all(tmp_path: Path) -> None:
    """By its number; the other one hears of it in its wait."""
    said, begin = tmp_path / "said", time.monotonic()
    with pytest.raises(Exception, match="process 1 terminated with exit code 3"):
        on_ranks(2, dying, str(said))
    assert time.monotonic() - begin < 60
    assert not said.exists() or "onnection" in said.read_text()


def disagreeing(rank: int, world: int) -> None:
    @torch.compile(backend="irc", dynamic=False)
    def total(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    total(torch.ones(4 + rank))


def test_collectives_of_different_shapes_are_an_error() -> None:
    with pytest.raises(Exception, match=r"Detected mismatch .* Rank . is .*TensorShape=\[[45]\]"):
        on_ranks(2, disagreeing, debug="DETAIL")


def test_the_benchmark_runs_small_on_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    benchmark = importlib.import_module("distributed")
    monkeypatch.setattr(benchmark, "start_processes", lambda function, args, world, join: start(function, args, world))
    record, trace = tmp_path / "record.json", tmp_path / "trace.json"
    command = [str(record), "--cpu", "--rows", "llama-sequence", "--trace", str(trace)]
    assert benchmark.main(command) == 0
    rows = json.loads(record.read_text())["rows"]
    assert [row["name"] for row in rows] == ["llama by sequence, forward", "llama by sequence, forward and backward"]
    assert all(row["ms"]["irc"] > 0 and "wrong" not in row for row in rows)
    pids = {str(event["pid"]).split(":")[0] for event in json.loads(trace.read_text())["traceEvents"]}
    assert pids == {"rank 0", "rank 1"}
