"""What the training examples share: options, the loop with its progress bar, checkpoints, and the plot of the loss."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits
from traced import traced

import irc_frontend as ir
from irc.runtime.driver import is_present
from irc_frontend import nn
from irc_frontend.data import prefetch
from irc_frontend.evaluation import on_gpu

CHECKPOINT = "checkpoint.safetensors"
PLOT = "loss.png"

LATE = 20
"""Steps whose losses are read together."""


def options(about: str | None, steps: int, argv: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--steps", type=int, default=steps, help="training steps in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and of dropout (%(default)s)")
    parser.add_argument("--target", choices=("cpu", "cuda"), help="where it runs; by default the GPU if there is one")
    parser.add_argument("--out", type=Path, help=f"a folder for {CHECKPOINT} and {PLOT}")
    parser.add_argument("--resume", action="store_true", help=f"go on from {CHECKPOINT} in that folder")
    parser.add_argument("--save-every", type=int, default=500, help="steps between checkpoints (%(default)s)")
    parser.add_argument("--trace", type=Path, help="write what some steps do on the GPU there, as a Chrome trace")
    found = parser.parse_args(argv)
    if found.resume and found.out is None:
        _refuse(parser, "--resume needs --out")
    if found.target == "cuda" and not is_present():
        _refuse(parser, "--target cuda: there is no GPU, or no driver of it; without --target it runs on the CPU")
    if found.trace is not None and (found.target == "cpu" or (found.target is None and not is_present())):
        _refuse(parser, "--trace: on the target cpu nothing is copied")
    if found.trace is not None and not found.trace.parent.is_dir():
        _refuse(parser, f"--trace: there is no folder {found.trace.parent}")
    return found


def _refuse(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """Ends the program with one line."""
    parser.exit(2, f"{parser.prog}: error: {message}\n")


def train(
    step: Callable[..., tuple[Any, Any]], state: Any, batch: Callable[[int], tuple[Any, ...]], how: argparse.Namespace
) -> tuple[Any, list[float]]:
    """The last state, and the loss of each step.

    `step(state, *batch(number))` gives the next state and the loss; it may take the state's memory. Batches depend on
    the step's number alone, so that a run that was interrupted and resumed ends as one that was not. On a GPU the state
    stays there, batches are copied ahead, and losses are read some steps late, so that it never waits for the host.
    """
    losses: list[float] = []
    if how.resume:
        state, words = nn.load(how.out / CHECKPOINT, state)
        losses = json.loads(words["losses"])
    if on_gpu():
        state = ir.tree_map(lambda leaf: leaf.to("cuda"), state)
    waiting: list[Any] = []
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("loss {task.fields[loss]}"))
    # A thread more costs small products of matrices more than it brings.
    with threadpool_limits(1), Progress(*columns) as progress:
        task = progress.add_task("", total=how.steps, completed=len(losses), loss="")
        numbers = range(len(losses), how.steps)
        batches = prefetch(map(batch, numbers))
        if how.trace is not None:
            batches = traced(batches, len(numbers), how.trace)
        for number, data in zip(numbers, batches, strict=True):
            state, loss = step(state, *data)
            waiting.append(loss)
            is_saved = bool(how.out) and (number + 1) % how.save_every == 0
            if len(waiting) < LATE and number + 1 < how.steps and not is_saved:
                continue
            losses += [loss.item() for loss in waiting]
            progress.update(task, advance=len(waiting), loss=f"{losses[-1]:.4f}")
            waiting.clear()
            if is_saved:
                save(how.out, state, losses)
    if how.out is not None:
        save(how.out, state, losses)
        plot(how.out / PLOT, losses)
    return state, losses


def save(folder: Path, state: Any, losses: list[float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    nn.save(folder / CHECKPOINT, state, {"losses": json.dumps(losses)})


def plot(path: Path, losses: list[float]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss", yscale="log")
    figure.savefig(path, dpi=120)
