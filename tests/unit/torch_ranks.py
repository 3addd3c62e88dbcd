"""Runs a function as the ranks of a group of processes, by gloo on the CPU."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import set_debug_level_from_env
from torch.multiprocessing.spawn import start_processes

SECONDS = 150.0
"""After which everything ends."""

MODULES = ["torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor.parallel", "irc_frontend.torch"]


def start(function: Any, args: tuple[Any, ...], world: int, **_: Any) -> Any:
    """The processes of `function(rank, *args)`, forked from one that has imported what they need."""
    multiprocessing.set_forkserver_preload(MODULES)
    return start_processes(function, args, world, join=False, start_method="forkserver")


def on_ranks(world: int, check: Callable[..., None], *args: Any, debug: str = "OFF") -> None:
    """Calls `check(rank, world, *args)`, a function of a module, on each rank. What one raises is raised here, with
    the number of its rank; the others end then. debug: the value of TORCH_DISTRIBUTED_DEBUG."""
    with tempfile.TemporaryDirectory() as folder:
        processes = start(_rank, (world, f"{folder}/meeting", debug, check, args), world)
        end = time.monotonic() + SECONDS
        while not processes.join(timeout=1.0):
            if time.monotonic() > end:
                for process in processes.processes:
                    process.kill()
                raise TimeoutError(f"the ranks did not come to an end in {SECONDS} s")


def _rank(rank: int, world: int, meeting: str, debug: str, check: Callable[..., None], args: Any) -> None:
    torch.set_num_threads(1)
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = debug
    set_debug_level_from_env()
    dist.init_process_group(
        "gloo", init_method=Path(meeting).as_uri(), rank=rank, world_size=world, timeout=timedelta(seconds=SECONDS)
    )
    check(rank, world, *args)
    dist.barrier()
    dist.destroy_process_group()
