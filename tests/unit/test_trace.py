"""Profiles and traces, on the host and on a device that only notes what is asked of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

import irc
from irc.runtime import profile
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.executor import Executor
from irc.runtime.plan import Buffer, Copy, Launch, Plan, Record, Wait
from irc.runtime.profile import in_sequence, profile_cuda
from irc.runtime.trace import active, tracing
from irc.support.diagnostics import IrcError

PROGRAM = """
func f(x: f32[64, 32], w: f32[32, 16]) -> f32[64, 16] {
    y = x @ w
    return relu(y)
}
"""

X, RESULT, SCRATCH = Buffer("argument", 0, 0, 64), Buffer("result", 0, 0, 64), Buffer("arena", 0, 0, 64)
SPEC = ArraySpec("x", (16,), "f32")


def launch(kernel: str, source: Buffer, result: Buffer, stream: int) -> Launch:
    return Launch(kernel, (1, 1, 1), 32, (1, 1, 1), 0, (source, result), stream)


PLAN = Plan(
    "f",
    arena=64,
    streams=2,
    events=1,
    constants=(),
    steps=(launch("a", X, SCRATCH, 1), Record(0, 1), Wait(0, 0), launch("b", SCRATCH, RESULT, 0), Copy(X, RESULT, 0)),
)


def an_artifact() -> Artifact:
    kernels = tuple(KernelBinary(name, "", "", b"", "?") for name in "ab")
    entry = {
        "ops": ["nd.add"],
        "launches": 1,
        "sets": 1,
        "flops": 10,
        "bytes_read": 64,
        "bytes_written": 64,
        "element": "bf16",
    }
    entries = [{"name": name, "location": f"f.irc:{line}:1", **entry} for line, name in enumerate("ab", 1)]
    return Artifact("sm_90a", (SPEC,), (SPEC,), PLAN.to_json(), {"kernels": entries}, kernels)


def test_a_trace_has_the_kernels_and_copies_of_each_stream(tmp_path: Path) -> None:
    device: Any = NotingDevice()
    executor = Executor(an_artifact(), PLAN, device)
    with tracing() as trace:
        executor.enqueue([10], [20], 5)
    assert active() is None
    on_device = [(span.name, span.kind, span.track) for span in trace.spans if span.track != "host"]
    side, main = "device 0 stream 101", "device 0 stream 5"
    assert sorted(on_device) == [("a", "kernel", side), ("b", "kernel", main), ("copy", "copy", main)]
    assert [span.name for span in trace.spans if span.track == "host"] == ["enqueue f"]
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["args"]["name"]: event["tid"] for event in events if event["ph"] == "M"}
    (a,) = (event for event in events if event["name"] == "a")
    assert a["tid"] == names[side]
    assert (a["ph"], a["args"]) == ("X", {"ops": ["nd.add"], "location": "f.irc:1:1"})
    assert a["dur"] == 1.0
    device.calls.clear()
    executor.enqueue([10], [20], 5)
    assert len([call for call in device.calls if call[0] == "record"]) == 3  # as planned, and behind the arena


def test_kernels_are_timed_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    device = NotingDevice()
    monkeypatch.setattr(profile, "device", lambda: device)
    found = profile_cuda(an_artifact(), [np.ones(16, np.float32)], 3)
    assert {part.name: (part.location, part.bytes, part.flops) for part in found.parts} == {
        "a": ("f.irc:1:1", 128, 10),
        "b": ("f.irc:2:1", 128, 10),
    }
    assert all(part.seconds == pytest.approx(1e-6) for part in found.parts)
    assert found.parts[0].share == pytest.approx(128 / 4.8e12 / 1e-6, rel=0.01)
    launched = [call for call in device.calls if call[0] == "launch"]
    assert {call[3] for call in launched[:8]} == {100}
    assert {call[3] for call in launched[-2:]} > {100}
    assert [type(step) for step in in_sequence(PLAN).steps] == [Launch, Launch, Copy]


def test_the_ops_of_a_host_program_are_timed() -> None:
    exe = irc.compile(PROGRAM, "interpret")
    arrays = [np.ones(spec.shape, spec.dtype) for spec in exe.arguments]
    found = exe.profile(*arrays, repetitions=2)
    parts = {part.name: part for part in found.parts}
    assert set(parts) == {"nd.matmul", "nd.relu"}
    product = parts["nd.matmul"]
    assert (product.flops, product.bytes) == (2 * 64 * 32 * 16, 4 * (64 * 32 + 32 * 16 + 64 * 16))
    assert product.location.endswith(":3:9")
    assert product.seconds > 0
    assert product.share is None
    assert [span.name for span in found.trace.spans] == ["nd.matmul", "nd.relu"]
    with pytest.raises(IrcError, match="expected 2 arrays"):
        exe.profile(arrays[0])


def test_the_simulator_measures_no_times() -> None:
    with pytest.raises(IrcError, match="the sim target measures no times"):
        irc.compile(PROGRAM, "sim").profile()
