"""CUDA graphs of what a function enqueues: how they are captured, and replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch


class Captured(Protocol):
    """A graph: it does anew what was captured."""

    def is_replayable(self) -> bool:
        """Whether a call may replay it where it is made."""
        ...

    def replay(self) -> None: ...


Capture = Callable[[Callable[[], Sequence[Any]]], tuple[Captured, Sequence[Any]]]
"""Captures what a function enqueues, with what it gives."""


_capturing = threading.Lock()


class CudaGraph:
    """What a function enqueues on the current stream, as a CUDA graph of torch's for that stream. torch waits for the
    device before, and random numbers that another thread draws meanwhile are an error."""

    def __init__(self, work: Callable[[], Sequence[Any]]):
        self._stream = torch.cuda.current_stream()
        self._graph = torch.cuda.CUDAGraph()
        # Graphs do not share memory: what one lends may be in use while another one works.
        with _capturing, torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self.results = work()

    def is_replayable(self) -> bool:
        return torch.cuda.current_stream() == self._stream

    def replay(self) -> None:
        self._graph.replay()


def captured(work: Callable[[], Sequence[Any]]) -> tuple[Captured, Sequence[Any]]:
    """A CUDA graph of torch's, whose results are in memory of its own."""
    graph = CudaGraph(work)
    results, graph.results = graph.results, ()
    return graph, results


def is_capturing() -> bool:
    """Whether what is enqueued on the current stream becomes a graph: one that the caller captures."""
    return torch.backends.cuda.is_built() and torch.cuda.is_current_stream_capturing()
