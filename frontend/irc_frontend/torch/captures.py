"""CUDA graphs of what a function enqueues: how they are captured, and replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from irc.runtime.driver import DriverError, device_of
from irc.runtime.libraries import library_of
from irc.support.diagnostics import IrcError


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


class UnnoticedGraph:
    """What a function enqueues on the current stream, as a CUDA graph for that stream. Nobody notices the capture:
    nothing waits for the device, other threads work on, and captures of theirs too. The function draws no random
    numbers. Its memory is of a pool of torch's allocator that nothing else takes from; the stream is irc's."""

    def __init__(self, work: Callable[[], Sequence[Any]]):
        library = library_of(torch.empty(0))
        assert library is not None
        self._ordinal, self._stream_of = torch.cuda.current_device(), library.current_stream
        self._stream = self._stream_of(self._ordinal)
        self._device, self._pool = device_of(self._ordinal), torch.cuda.MemPool()
        side = self._device.take_stream()
        try:
            on = torch.cuda.ExternalStream(side, device=self._ordinal)
            with torch.cuda.stream(on), torch.cuda.use_mem_pool(self._pool):
                self._device.begin_capture(side)
                try:
                    self.results = work()
                    self._graph = self._device.end_capture(side)
                except BaseException:
                    self._device.drop_capture(side)
                    raise
        finally:
            self._device.give_stream(side)

    def is_replayable(self) -> bool:
        return torch.cuda.current_device() == self._ordinal and self._stream_of(self._ordinal) == self._stream

    def replay(self) -> None:
        self._device.use()
        try:
            self._graph.enqueue(self._stream)
        except DriverError as error:
            raise IrcError(f"the CUDA driver failed: {error}") from error


def captured(work: Callable[[], Sequence[Any]]) -> tuple[Captured, Sequence[Any]]:
    """A CUDA graph of torch's, whose results are in memory of its own."""
    graph = CudaGraph(work)
    results, graph.results = graph.results, ()
    return graph, results


def captured_unnoticed(work: Callable[[], Sequence[Any]]) -> tuple[Captured, Sequence[Any]]:
    """A CUDA graph of irc's, whose results are in memory of its own."""
    graph = UnnoticedGraph(work)
    results, graph.results = graph.results, ()
    return graph, results


def is_capturing() -> bool:
    """Whether what is enqueued on the current stream becomes a graph: one that the caller captures."""
    return torch.backends.cuda.is_built() and torch.cuda.is_current_stream_capturing()
