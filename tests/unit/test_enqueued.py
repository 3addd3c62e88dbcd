"""Calls that are not waited for, on a device that only notes what is asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

from irc.runtime import cuda, enqueued, transfer
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.cuda import CudaProgram, executable_of
from irc.runtime.dlpack import LEGACY_STREAM, DeviceArray
from irc.runtime.driver import DriverError
from irc.runtime.enqueued import Enqueued
from irc.runtime.executable import Executable
from irc.runtime.plan import Buffer, Launch, Plan
from irc.support.diagnostics import IrcError

PLAN = Plan(
    "f",
    0,
    1,
    0,
    (),
    (Launch("k", (1, 1, 1), 32, (1, 1, 1), 0, (Buffer("argument", 0, 0, 16), Buffer("result", 0, 0, 16)), 0),),
)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> NotingDevice:
    made = NotingDevice()
    for module in (cuda, enqueued, transfer):
        monkeypatch.setattr(module, "device", lambda ordinal=0: made)
    monkeypatch.setattr(
        DeviceArray, "__array__", lambda array, dtype=None, copy=None: np.full(array.shape, 3, np.float32)
    )
    return made


def an_executable() -> Executable:
    specs = (ArraySpec("x", (4,), "f32"),)
    kernels = (KernelBinary("k", "", "", b"", "f.irc:3:5"),)
    artifact = Artifact("sm_90a", specs, specs, PLAN.to_json(), {}, kernels)
    return executable_of(artifact, CudaProgram(artifact))


def noted(device: NotingDevice, *names: str) -> list[tuple[Any, ...]]:
    return [call for call in device.calls if call[0] in names]


def test_arrays_of_the_host_are_sent_and_fetched_when_the_call_is_waited_for(device: NotingDevice) -> None:
    out = np.zeros(4, np.float32)
    call = Enqueued(an_executable(), [np.ones(4, np.float32)], [out], stream=55)
    order = [each[0] for each in noted(device, "copy", "record", "wait", "launch", "wait_here")]
    assert order == ["copy", "record", "wait", "launch", "record", "wait"]
    copied, done = noted(device, "record")
    assert (copied[2], done[2]) == (LEGACY_STREAM, 55)
    assert noted(device, "wait") == [("wait", copied[1], 55), ("wait", done[1], LEGACY_STREAM)]
    assert not out.any()
    (found,) = call.wait()
    assert found is out
    assert (out == 3).all()
    assert noted(device, "wait_here") == [("wait_here", done[1])]
    assert call.is_done
    assert call.wait()[0] is out
    assert len(noted(device, "wait_here")) == 1


def test_arrays_of_the_device_stay_there(device: NotingDevice) -> None:
    call = Enqueued(an_executable(), [DeviceArray(4096, (4,), "f32", 0, lambda: None)])
    assert [each[0] for each in noted(device, "copy", "record", "wait", "launch")] == ["launch", "record"]
    (found,) = call.wait()
    assert isinstance(found, DeviceArray)


def test_a_failure_shows_when_the_call_is_waited_for(device: NotingDevice) -> None:
    def fail(event: Any) -> None:
        raise DriverError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")

    device.wait_here = fail  # pyright: ignore[reportAttributeAccessIssue]
    call = Enqueued(an_executable(), [DeviceArray(4096, (4,), "f32", 0, lambda: None)])
    with pytest.raises(IrcError, match="the call failed: CUDA_ERROR_ILLEGAL_ADDRESS"):
        call.wait()
