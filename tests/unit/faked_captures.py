"""CUDA graphs without a GPU, for tests of `irc_frontend.torch.replays`: what is captured is done anew by the function
that enqueued it, on the memory that it had then."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch

captures: list[list[Any]] = []
replayed: list[str] = []
is_capturing: list[str] = []
Work = tuple[Callable[[list[Any]], Sequence[Any]], list[Any], list[Any]]
recorded: list[Work] = []
"""The functions that ran, with memory, which keeps no tensor alive, and what was in it."""


def memory_of(x: Any) -> Any:
    """A tensor of the same memory that does not own it, as a CUDA graph knows it."""
    if not isinstance(x, torch.Tensor) or not x.numel():
        return x
    size = 1 + sum((extent - 1) * stride for extent, stride in zip(x.shape, x.stride(), strict=True))
    memory = (ctypes.c_char * (size * x.element_size())).from_address(x.data_ptr())
    with torch.inference_mode(False), torch.no_grad():
        return torch.frombuffer(memory, dtype=x.dtype).as_strided(x.shape, x.stride())


def recording(run: Callable[[list[Any]], Sequence[Any]]) -> Callable[[list[Any]], Sequence[Any]]:
    def work(arguments: list[Any]) -> Sequence[Any]:
        recorded.append((run, list(map(memory_of, arguments)), [x.clone() for x in arguments if is_capturing]))
        return run(arguments)

    return work


def once(x: torch.Tensor) -> torch.Tensor:
    """The elements of memory of a tensor that is expanded."""
    for axis, stride in enumerate(x.stride()):
        x = x.narrow(axis, 0, 1) if stride == 0 and x.numel() else x
    return x


class Again:
    """A graph that works as a CUDA graph does: into the arrays that it made when it was captured."""

    def __init__(self, work: Work, results: Sequence[Any]):
        self._work, self._results = work, [memory_of(x) for x in results]

    def is_replayable(self) -> bool:
        return True

    def replay(self) -> None:
        run, arguments, _ = self._work
        replayed.append("")
        for result, value in zip(self._results, run(list(arguments)), strict=True):
            if isinstance(value, torch.Tensor):
                once(result).copy_(once(value))


def again(work: Callable[[], Sequence[Any]]) -> tuple[Again, Sequence[Any]]:
    """What is enqueued does nothing yet: what it wrote to arguments is taken back."""
    is_capturing.append("")
    results = work()
    is_capturing.clear()
    _, arguments, before = recorded[-1]
    for x, value in zip(arguments, before, strict=True):
        x.copy_(value)
    captures.append([])
    return Again(recorded[-1], results), results
