"""Several GPUs of one host: training steps by DDP, and a tensor parallel layer of Llama 3, compiled by irc, beside
torch.compile and eager.

`python3 benchmarks/distributed.py OUT.json [--rows gpt2,resnet50,llama,llama-sequence] [--trace FILE]` starts a
process for each GPU. Of a model trained by DDP it times the step of one GPU, the others idle, that of all, and that of
all without collectives; what counts is how many times more samples a second all take. All variants of a row run by
turns in the same processes, and what counts is the median of the ratios within a repetition. Numbers are compared
first: irc's error, against the model in f32 without ranks, may be 1.5 times eager's. `--cpu` runs small sizes by gloo,
without a GPU. After `--seconds` all processes end, and the record has the rows so far.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import torch
import torch._dynamo as dynamo
import torch.distributed as dist
from distributed_models import TRAINED, LlamaBlock, Training, angles, parallelized
from distributed_trace import hidden_share, merged
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel

from irc_frontend.torch import backend, collectives
from irc_tools.machine import describe

ROWS = (*TRAINED, "llama", "llama-sequence")
COMPILERS: dict[str, dict[str, Any]] = {"irc": {"backend": backend}, "compile": {}}
WORST = 1.5
"""How many times eager's error irc's may be."""
MIN_THROUGHPUT, MIN_SPEED = 0.95, 1.1
"""Bars: of the samples a second of one GPU, times the number of GPUs; of the speed of eager and torch.compile."""


class Rank:
    """This process among those of the run. bucket: MiB of gradients that DDP averages at a time."""

    def __init__(self, number: int, world: int, args: argparse.Namespace):
        # On CPUs torch.compile would need a compiler of C++.
        self.compilers = ["irc"] if args.cpu or args.no_compile else list(COMPILERS)
        self.bucket: float = args.bucket
        self.options: dict[str, Any] = {"irc": {"options": {"graphs": args.graphs}}}
        self.number, self.world, self.small = number, world, args.small or args.cpu
        self.device = torch.device("cpu") if args.cpu else torch.device("cuda", number)
        self.is_cpu = args.cpu
        self.repetitions, self.seconds = (2, 0.0) if self.small else (9, 0.15)
        self.host: Any = dist.new_group(backend="gloo", timeout=timedelta(seconds=args.seconds))
        """For what must not keep a GPU busy: waiting."""
        self.profile: Path | None = Path(args.profiles) if args.trace else None

    def wait(self) -> None:
        if not self.is_cpu:
            torch.cuda.synchronize()
        dist.barrier(self.host)

    def timed(self, run: Callable[[], Any], calls: int, alone: bool) -> float:
        """Seconds of a call; with `alone` rank 0 makes it, and the others wait. Else those of the slowest rank."""
        self.wait()
        begin = time.perf_counter()
        if not alone or self.number == 0:
            for _ in range(calls):
                run()
            if not self.is_cpu:
                torch.cuda.synchronize()
        taken = torch.tensor((time.perf_counter() - begin) / calls, dtype=torch.float64)
        dist.barrier(self.host)
        dist.broadcast(taken, 0, self.host) if alone else dist.all_reduce(taken, dist.ReduceOp.MAX, self.host)
        return float(taken)

    def by_turns(self, variants: dict[str, Callable[[], Any]], alone: Sequence[str] = ()) -> dict[str, list[float]]:
        """Seconds of a call of each variant, repetition by repetition; which goes first moves on."""
        counts: dict[str, int] = {}
        for name, run in variants.items():
            self.timed(run, 2, name in alone)
            counts[name] = max(1, round(self.seconds / self.timed(run, 2, name in alone)))
        names = list(variants)
        found: dict[str, list[float]] = {name: [] for name in names}
        for at in range(self.repetitions):
            for name in names[at % len(names) :] + names[: at % len(names)]:
                found[name].append(self.timed(variants[name], counts[name], name in alone))
        return found

    def profiled(self, row: str, run: Callable[[], Any]) -> float | None:
        """The share of the collectives' time in which other kernels run, on this GPU, in two calls; None where there
        is none. The trace is kept where one is asked for."""
        kinds = [torch.profiler.ProfilerActivity.CPU]
        kinds += [] if self.is_cpu else [torch.profiler.ProfilerActivity.CUDA]
        self.wait()
        with torch.profiler.profile(activities=kinds) as found:
            for _ in range(2):
                run()
            self.wait()
        with tempfile.TemporaryDirectory() as folder:
            path = (self.profile or Path(folder)) / f"{row.replace(' ', '-')}-{self.number}.json"
            found.export_chrome_trace(str(path))
            return hidden_share(json.loads(path.read_text()))


def run_training(rank: Rank, training: Training) -> list[dict[str, Any]]:
    """A training step with AdamW under autocast to bf16, by DDP and alone."""
    torch.manual_seed(0)
    first = training.model().to(rank.device)
    torch.manual_seed(1 + rank.number)
    batch = [x.to(rank.device) for x in training.batch()]
    names = rank.compilers
    models = {name + suffix: copy.deepcopy(first) for name in names for suffix in (" alone", "")}
    runs: dict[str, Any] = {}
    for name, model in models.items():
        is_alone = name.endswith(" alone")
        if is_alone:
            model.__class__ = _alone(type(model))
        compiler = name.removesuffix(" alone")
        options = COMPILERS[compiler] | rank.options.get(compiler, {})
        runs[name] = torch.compile(model if is_alone else _ddp(model, rank), dynamic=False, **options)
    torch.set_float32_matmul_precision("highest")
    reference = _average(rank, _gradients(first, first, batch, None))
    torch.set_float32_matmul_precision("high")  # as torch.compile asks for
    errors = {
        "eager": _error(_average(rank, _gradients(first, first, batch, torch.bfloat16)), reference),
        "irc": _error(_gradients(runs["irc"], models["irc"], batch, torch.bfloat16), reference),
    }
    row = _checked(rank, training.name, errors)
    if "wrong" in row:
        return [row]
    steps = {name: _training_step(run, models[name], batch) for name, run in runs.items()}
    steps["irc without collectives"] = _without_collectives(runs["irc"], steps["irc"])
    seconds = rank.by_turns(steps, [name for name in steps if name.endswith(" alone")])
    more = {name: _ratio(seconds[f"{name} alone"], seconds[name]) for name in names}
    row |= {
        "ms": {name: round(1e3 * statistics.median(each), 3) for name, each in seconds.items()},
        "times one GPU": {name: round(rank.world * ratio, 3) for name, ratio in more.items()},
        "bar": round(MIN_THROUGHPUT * rank.world, 3),
        "holds": more["irc"] >= 0.99 * MIN_THROUGHPUT,
        "collectives hidden": rank.profiled(training.name, steps["irc"]),
    }
    return [row]


def _alone(model: type[nn.Module]) -> type[nn.Module]:
    """The class with code of its own, which torch.compile does not take for what it divided for DDP."""
    forward = cast("FunctionType", model.forward)
    own = FunctionType(forward.__code__.replace(), forward.__globals__, None, forward.__defaults__, forward.__closure__)
    return type(model.__name__, (model,), {"forward": own})


def _ddp(model: nn.Module, rank: Rank) -> nn.Module:
    ids = None if rank.is_cpu else [rank.number]
    return DistributedDataParallel(model, ids, gradient_as_bucket_view=True, bucket_cap_mb=rank.bucket)


def _without_collectives(run: Any, step: Callable[[], None]) -> Callable[[], None]:
    """The step of a model compiled around DDP, in which each rank keeps its own gradients."""

    def own() -> None:
        with run._orig_mod.no_sync():
            step()

    return own


def _training_step(run: Any, model: nn.Module, batch: Sequence[torch.Tensor]) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def step() -> None:
        with torch.autocast(batch[0].device.type, torch.bfloat16):
            loss = run(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def _gradients(run: Any, model: nn.Module, batch: Sequence[torch.Tensor], dtype: torch.dtype | None) -> torch.Tensor:
    """All gradients together, under autocast to a type where one is given."""
    with torch.autocast(batch[0].device.type, dtype) if dtype else nullcontext():
        loss = run(*batch)
    loss.backward()
    found = torch.cat([_all(p.grad).float().flatten() for p in model.parameters()])
    model.zero_grad(set_to_none=True)
    return found


def _average(rank: Rank, gradients: torch.Tensor) -> torch.Tensor:
    """Over the ranks, as DDP does it."""
    dist.all_reduce(gradients)
    return gradients / rank.world


def run_llama(rank: Rank, *, sequence: bool) -> list[dict[str, Any]]:
    """A tensor parallel layer in bf16: its forward pass, and forward and backward."""
    batch, words, width, heads, shared, inner = (2, 64, 64, 4, 2, 96) if rank.small else (4, 2048, 4096, 32, 8, 14336)
    torch.manual_seed(0)
    with torch.device(rank.device):
        whole = LlamaBlock(width, heads, shared, inner).bfloat16()
        x, toward = torch.randn(2, batch, words, width).bfloat16()
        cos, sin = (each.to(rank.device).bfloat16() for each in angles(words, width // heads))
    torch.set_float32_matmul_precision("highest")
    reference = _llama_numbers(
        copy.deepcopy(whole).float(), x.float().requires_grad_(), toward.float(), cos.float(), sin.float()
    )
    torch.set_float32_matmul_precision("high")
    mesh = init_device_mesh(rank.device.type, (rank.world,))
    block = parallelized(whole, mesh, sequence=sequence)
    runs = {"eager": block, **{name: torch.compile(block, dynamic=False, **COMPILERS[name]) for name in rank.compilers}}

    def own(value: torch.Tensor) -> torch.Tensor:
        """What the block takes: all words, or this rank's."""
        if not sequence:
            return value.detach().requires_grad_()
        part = value.chunk(rank.world, 1)[rank.number].contiguous().detach().requires_grad_()
        return DTensor.from_local(part, mesh, [Shard(1)])

    taken, gradient = own(x), own(toward).detach()

    def backward(run: Any) -> None:
        run(taken, cos, sin).backward(gradient)
        block.zero_grad(set_to_none=True)

    def forward(run: Any) -> None:
        with torch.no_grad():
            run(taken, cos, sin)

    errors = {}
    for kind in ("eager", "irc"):
        found = _llama_numbers(runs[kind], own(x), gradient, cos, sin, block)
        errors[kind] = max(_error(a.float(), b) for a, b in zip(found, reference, strict=True))
    rows: list[dict[str, Any]] = []
    for what, step in (("forward", forward), ("forward and backward", backward)):
        steps: dict[str, Callable[[], Any]] = {key: lambda run=run, step=step: step(run) for key, run in runs.items()}
        seconds = rank.by_turns(steps)
        faster = {key: round(_ratio(seconds[key], seconds["irc"]), 3) for key in seconds if key != "irc"}
        row = _checked(rank, f"llama{' by sequence' if sequence else ''}, {what}", errors)
        row |= {
            "ms": {key: round(1e3 * statistics.median(each), 3) for key, each in seconds.items()},
            "times faster than": faster,
            "bar": MIN_SPEED,
            "holds": all(ratio >= 0.99 * MIN_SPEED for ratio in faster.values()),
            "collectives hidden": rank.profiled(row["name"], steps["irc"]),
        }
        rows.append(row)
    return rows


def _llama_numbers(
    run: Any, x: torch.Tensor, toward: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, module: Any = None
) -> list[torch.Tensor]:
    """The result and the gradients of the weights."""
    result = run(x, cos, sin)
    result.backward(toward)
    module = run if module is None else module
    found = [_all(result).detach(), *(_all(p.grad) for p in module.parameters())]
    module.zero_grad(set_to_none=True)
    return found


def _all(value: Any) -> torch.Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _error(found: torch.Tensor, reference: torch.Tensor) -> float:
    return float((found - reference).abs().mean() / reference.std())


def _checked(rank: Rank, name: str, errors: dict[str, float]) -> dict[str, Any]:
    """The beginning of a row: the largest errors of all ranks, and whether irc's is too large."""
    worst = torch.tensor(list(errors.values()), dtype=torch.float64)
    dist.all_reduce(worst, dist.ReduceOp.MAX, rank.host)
    found = dict(zip(errors, worst.tolist(), strict=True))
    row: dict[str, Any] = {"name": name, "errors": {kind: float(f"{error:.3g}") for kind, error in found.items()}}
    if not found["irc"] <= WORST * found["eager"]:
        row["wrong"] = f"irc's error is over {WORST} times eager's"
    return row


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the ratios within a repetition."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def run_rows(name: str, rank: Rank) -> list[dict[str, Any]]:
    dynamo.reset()
    begin = time.perf_counter()
    if name in TRAINED:
        rows = run_training(rank, TRAINED[name](small=rank.small))
    else:
        rows = run_llama(rank, sequence=name == "llama-sequence")
    return [{**row, "took": round(time.perf_counter() - begin, 1)} for row in rows]


def work(number: int, world: int, args: argparse.Namespace) -> None:
    """What the process of each rank does."""
    faulthandler.dump_traceback_later(args.seconds - 5, exit=True)
    if args.cpu:
        torch.set_num_threads(1)
    else:
        torch.cuda.set_device(number)
    dist.init_process_group(
        "gloo" if args.cpu else "nccl",
        init_method=f"file://{args.meeting}",
        rank=number,
        world_size=world,
        timeout=timedelta(seconds=args.seconds),
        device_id=None if args.cpu else torch.device("cuda", number),
    )
    rank = Rank(number, world, args)
    dynamo.config.optimize_ddp = not args.whole
    if rank.small:  # graphs are divided as those of large sizes are
        collectives.MIN_HIDDEN, collectives.BUCKET = 0, 1
    record: dict[str, Any] = {"machine": describe(), "ranks": world, "backend": dist.get_backend(), "rows": []}
    for name in args.rows:
        rows = run_rows(name, rank)
        record["rows"] += rows
        if number == 0:
            print(*map(json.dumps, rows), sep="\n", flush=True)
            Path(args.file).write_text(json.dumps(record, indent=1) + "\n")
    rank.wait()
    dist.destroy_process_group()
    faulthandler.cancel_dump_traceback_later()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS), help="comma-separated names")
    parser.add_argument("--small", action="store_true", help="small sizes, which check numbers alone")
    parser.add_argument("--cpu", action="store_true", help="small sizes by gloo")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--graphs", action="store_true", help="DDP's steps of irc as CUDA graphs")
    parser.add_argument("--whole", action="store_true", help="DDP's graphs are not divided for its buckets")
    parser.add_argument("--bucket", type=float, default=25.0, help="MiB of gradients that DDP averages at a time")
    parser.add_argument("--seconds", type=float, default=570.0, help="after which everything ends")
    parser.add_argument("--trace", help="file for a trace of all ranks")
    args = parser.parse_args(arguments)
    if unknown := set(args.rows) - set(ROWS):
        parser.error(f"no rows {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if not args.cpu and torch.cuda.device_count() < args.ranks:
        parser.error(f"{args.ranks} ranks need as many GPUs, and there are {torch.cuda.device_count()}; or --cpu")
    with tempfile.TemporaryDirectory() as folder:
        args.meeting, args.profiles = f"{folder}/meeting", folder
        failed = _joined(start_processes(work, (args.ranks, args), args.ranks, join=False), args.seconds)
        if args.trace and not failed:
            Path(args.trace).write_text(json.dumps(merged(Path(folder))))
    return failed


def _joined(processes: Any, seconds: float) -> int:
    """Waits for all ranks; 1 where they do not come to an end in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if processes.join(timeout=1.0):
            return 0
    for process in processes.processes:
        process.kill()
    print(f"ended after {seconds} s", file=sys.stderr)
    return 1


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1" if "--cpu" in sys.argv else "8")
    sys.exit(main())
