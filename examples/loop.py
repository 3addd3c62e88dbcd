"""What the training examples share: options, the loop with its progress bar, checkpoints, and the plot of the loss."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from irc_frontend import nn

CHECKPOINT = "checkpoint.safetensors"
PLOT = "loss.png"


def options(about: str | None, steps: int, argv: list[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--steps", type=int, default=steps, help="training steps in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and of dropout (%(default)s)")
    parser.add_argument("--target", choices=("cpu", "cuda"), help="where it runs; by default the GPU if there is one")
    parser.add_argument("--out", type=Path, help=f"a folder for {CHECKPOINT} and {PLOT}")
    parser.add_argument("--resume", action="store_true", help=f"go on from {CHECKPOINT} in that folder")
    parser.add_argument("--save-every", type=int, default=500, help="steps between checkpoints (%(default)s)")
    found = parser.parse_args(argv)
    if found.resume and found.out is None:
        parser.error("--resume needs --out")
    return found


def train(
    step: Callable[..., tuple[Any, Any]], state: Any, batch: Callable[[int], tuple[Any, ...]], how: argparse.Namespace
) -> tuple[Any, list[float]]:
    """The last state, and the loss of each step.

    `step(state, *batch(number))` gives the next state and the loss. Batches depend on the step's number alone, so that
    a run that was interrupted and resumed ends as one that was not.
    """
    losses: list[float] = []
    if how.resume:
        state, words = nn.load(how.out / CHECKPOINT, state)
        losses = json.loads(words["losses"])
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("loss {task.fields[loss]}"))
    # A thread more costs small products of matrices more than it brings.
    with threadpool_limits(1), Progress(*columns) as progress:
        task = progress.add_task("", total=how.steps, completed=len(losses), loss="")
        for number in range(len(losses), how.steps):
            state, loss = step(state, *batch(number))
            losses.append(loss.item())
            progress.update(task, advance=1, loss=f"{losses[-1]:.4f}")
            if how.out is not None and (number + 1) % how.save_every == 0:
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
