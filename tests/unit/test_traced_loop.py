"""Which copies of batches a trace of a training loop shows as hidden: in made traces, and in a loop on a device that
only notes what is asked of it."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

from irc.runtime.feed import COPY, Feed
from irc.runtime.trace import HOST, Span, active
from irc.support.diagnostics import IrcError

EXAMPLES = Path(__file__).parents[2] / "examples"
MAIN, SIDE, COPIES = "device 0 stream 1", "device 0 stream 101", "device 0 stream 100"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("traced")


def step(number: int, *ends: float) -> list[Span]:
    """A step from `number` to the number after it, in seconds, with kernels of 0.1 seconds on two streams."""
    kernels = [Span("k", "kernel", (MAIN, SIDE)[n % 2], end - 0.1, 0.1, {}) for n, end in enumerate(ends)]
    enqueue = Span("enqueue f", "call", HOST, number, 0.01, {})
    return [Span(f"step {number}", "step", MAIN, number, 1, {"number": number}), enqueue, *kernels]


def copy(number: int, end: float) -> Span:
    return Span(COPY, "copy", COPIES, end - 0.2, 0.2, {"number": number})


def test_a_copy_is_hidden_behind_the_kernels_of_the_step_before(traced: Any) -> None:
    steps = [*step(5, 5.3, 5.8), *step(6, 6.5), *step(7, 7.5)]
    found = traced.copies_in([*steps, copy(6, 5.8), copy(7, 5.9), copy(8, 7.4)])
    assert (found.count, found.hidden, found.waited) == (3, 3, 0)
    assert str(found) == (
        "trace: 3 copies of batches, 3 done before the step that reads them could start; "
        "the device waited 0 us for copies"
    )


def test_a_copy_that_ends_later_was_waited_for(traced: Any) -> None:
    """Though the span of the step, which the host ends, is longer."""
    found = traced.copies_in([*step(5, 5.8, 5.3), *step(6, 6.5), copy(6, 5.8005), copy(7, 6.4)])
    assert (found.count, found.hidden) == (2, 1)
    assert found.waited == pytest.approx(0.0005)
    assert "2 copies of batches, 1 done" in str(found)
    assert "waited 500 us" in str(found)


def test_copies_are_left_out_where_the_step_before_is_not_in_the_trace(traced: Any) -> None:
    assert traced.copies_in([copy(5, 4.8), copy(6, 5.2), *step(5, 5.5), copy(9, 9)]).count == 1


def test_without_copies(traced: Any) -> None:
    assert str(traced.copies_in(step(5, 5.5))) == "trace: no batch was copied"


@pytest.mark.parametrize("ahead", [True, False])
def test_a_part_of_a_loop_is_traced(
    traced: Any, ahead: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that are sent before the step before them, or behind it. The device does everything at once."""
    device: Any = NotingDevice()
    monkeypatch.setattr(traced, "device", lambda: device)
    feed, batch = Feed(device, 2), np.zeros(4, np.int8)
    device.pinned = lambda size: SimpleNamespace(address=batch.ctypes.data, size=size)

    def batches(count: int) -> Any:
        if ahead:
            feed.send([batch])
        for number in range(count):
            if not ahead or number + 1 < count:
                feed.send([batch])
            yield number

    given: list[int] = []
    for number in traced.traced(batches(120), 120, tmp_path / "trace.json"):
        given.append(number)
        if (trace := active()) is not None:
            with trace.on_device(device, 1, "k", "kernel"):
                pass
    assert given == list(range(120))
    assert active() is None
    out = capsys.readouterr().out
    assert f"trace: {50 if ahead else 49} copies of batches, {50 if ahead else 0} done before" in out
    assert (tmp_path / "trace.json").read_text().count('"step ') == 50


def test_too_few_steps(traced: Any, tmp_path: Path) -> None:
    with pytest.raises(IrcError, match="a trace takes 100 steps, there are 99 to do"):
        next(traced.traced(range(99), 99, tmp_path / "trace.json"))


def test_on_the_cpu_nothing_is_copied(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    pytest.importorskip("threadpoolctl")
    with pytest.raises(SystemExit):
        importlib.import_module("loop").options(None, 100, ["--target", "cpu", "--trace", "trace.json"])
    assert "--trace: on the target cpu nothing is copied" in capsys.readouterr().err
