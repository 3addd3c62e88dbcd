"""What a call of the cuda target does with a caller's arrays, on a device that only notes what is asked of it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

from irc.driver.compiler import compile_artifact
from irc.runtime import bound, cuda, libraries
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.bound import Graph
from irc.runtime.cuda import CudaProgram, loadable
from irc.runtime.dlpack import LEGACY_STREAM, DeviceArray
from irc.runtime.libraries import Taken
from irc.runtime.plan import Buffer, Copy, Launch, Plan
from irc.support.diagnostics import IrcError

ARGUMENTS = tuple(Buffer("argument", index, 0, 16) for index in range(2))
PLAN = Plan("f", 0, 1, 0, (), (Launch("k", (1, 1, 1), 32, (1, 1, 1), 0, (*ARGUMENTS, Buffer("result", 0, 0, 16)), 0),))
COPYING = Plan("f", 0, 1, 0, (), (*PLAN.steps, Copy(ARGUMENTS[0], Buffer("result", 0, 0, 16), 0)))
SPECS = tuple(ArraySpec(name, (4,), "f32") for name in "xy")


@dataclass
class FakeArray:
    """An array at an address of a device; device -1 is the host."""

    address: int
    device: int = 0


class FakeLibrary:
    """Its current stream is 7; its results are at 8192."""

    entered: list[int] = []

    def is_on_device(self, array: FakeArray) -> bool:
        return array.device >= 0

    def device_of(self, array: FakeArray) -> int:
        return array.device

    def current_stream(self, device: int) -> int:
        return 7

    def on_stream(self, stream: int, device: int) -> Any:
        self.entered.append(stream)
        return nullcontext()

    def take(self, spec: ArraySpec, array: FakeArray, stream: int, what: str = "argument") -> Taken:
        return Taken(array.address, array.device, array)

    def quick(self, specs: Any) -> Any:
        return None

    def maker(self, spec: ArraySpec, device: int) -> Any:
        return lambda allocate: ("made", 8192)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> NotingDevice:
    noting = NotingDevice()
    monkeypatch.setattr(cuda, "device", lambda ordinal=0: noting)
    monkeypatch.setitem(libraries._LIBRARIES, FakeArray, FakeLibrary())
    monkeypatch.setattr(FakeLibrary, "entered", [])
    return noting


def a_program(plan: Plan = PLAN) -> CudaProgram:
    kernels = (KernelBinary("k", "", "", b"", "f.irc:3:5"),)
    result = ArraySpec("0", (4,), "f32")
    return CudaProgram(Artifact("sm_90a", SPECS, (result,), plan.to_json(), {}, kernels))


def launches(device: NotingDevice) -> list[tuple[Any, ...]]:
    """The arguments and the stream of each launch."""
    return [(call[2], call[3]) for call in device.calls if call[0] == "launch"]


def test_device_arrays_are_used_in_place_on_the_librarys_stream(device: NotingDevice) -> None:
    program = a_program()
    assert program.run([FakeArray(1024), FakeArray(2048)], None) == ["made"]
    assert launches(device) == [([1024, 2048, 8192], 7)]
    assert "copy" not in [call[0] for call in device.calls]
    program.run([FakeArray(1024), FakeArray(2048)], 99)
    assert launches(device)[1:] == [([1024, 2048, 8192], 99)]
    assert FakeLibrary.entered == [7, 99]


def test_arrays_that_are_not_aligned_are_copied_and_the_copies_freed(device: NotingDevice) -> None:
    a_program().run([FakeArray(1024), FakeArray(2052)], None)
    moved = (1 << 20) + 4096
    assert [call for call in device.calls if call[0] == "copy"] == [("copy", moved, 2052, 16, 7)]
    assert launches(device) == [([1024, moved, 8192], 7)]
    assert ("free", moved, 7) in device.calls


def test_arguments_that_may_begin_anywhere_are_taken_where_they_are(device: NotingDevice) -> None:
    program = a_program()
    program.arguments = tuple(
        replace(spec, align=align) for spec, align in zip(program.arguments, (4, 16), strict=True)
    )
    program.run([FakeArray(1028), FakeArray(2048)], None)
    assert launches(device) == [([1028, 2048, 8192], 7)]
    call = program.bind([FakeArray(1028), FakeArray(2048)], as_graph=False)
    assert call() == "made"
    program.run([FakeArray(1026), FakeArray(2052)], None)
    moved = launches(device)[-1][0]
    assert 1026 not in moved and 2052 not in moved
    with pytest.raises(IrcError, match="argument x cannot be used in place"):
        program.bind([FakeArray(1026), FakeArray(2048)], as_graph=False)


def test_arrays_of_two_places_are_one_clear_error(device: NotingDevice) -> None:
    program = a_program()
    with pytest.raises(IrcError, match="argument y is on device 1, the first one on device 0"):
        program.run([FakeArray(1024), FakeArray(2048, device=1)], None)
    with pytest.raises(IrcError, match="argument x is on the host and others are on the device"):
        program.run([np.ones(4, np.float32), FakeArray(2048)], None)
    with pytest.raises(IrcError, match="expected 2 arrays"):
        program.run([FakeArray(1024)], None)
    assert not launches(device)


def test_host_arrays_are_copied_in_and_out_and_all_memory_is_freed(device: NotingDevice) -> None:
    x, y = (np.full(4, value, np.float32) for value in (1, 2))
    (result,) = a_program().run([x, y], None)
    first = 1 << 20
    (arguments, stream), *_ = launches(device)
    assert (arguments, stream) == ([first + 4096, first + 8192, first + 12288], 100)
    copies = [call[1:] for call in device.calls if call[0] == "copy"]
    assert copies == [
        (first + 4096, x.ctypes.data, 16, 100),
        (first + 8192, y.ctypes.data, 16, 100),
        (result.ctypes.data, first + 12288, 16, 100),
    ]
    freed = {call[1] for call in device.calls if call[0] == "free"}
    assert freed >= {first + 4096, first + 8192, first + 12288}
    assert device.calls.index(("synchronize", 100)) > device.calls.index(("copy", *copies[2]))
    assert device.spare == [100]


def test_arrays_larger_than_the_memory_are_refused_before_anything_is_copied(device: NotingDevice) -> None:
    device.total_memory = 40
    device.free_memory = lambda: 30  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(IrcError, match="not enough device memory"):
        a_program().run([np.ones(4, np.float32)] * 2, None)
    assert [call for call in device.calls if call[0] != "use"] == []


def test_a_bound_call_only_launches_and_gives_the_same_results(device: NotingDevice) -> None:
    call = a_program().bind([FakeArray(1024), FakeArray(2048)], as_graph=False)
    device.calls.clear()
    assert call() == "made"
    assert call(stream=99) == "made"
    assert [call for call in device.calls if call[0] != "use"] == [
        ("launch", "k", [1024, 2048, 8192], 7),
        ("launch", "k", [1024, 2048, 8192], 99),
    ]


def test_a_bound_call_refuses_arrays_that_it_cannot_use_in_place(device: NotingDevice) -> None:
    program = a_program()
    for arrays, message in [
        ([FakeArray(1024), FakeArray(2052)], "argument y cannot be used in place"),
        ([FakeArray(1024), np.ones(4, np.float32)], "argument y is on the host"),
        ([np.ones(4, np.float32), FakeArray(1024)], "argument x is on the host"),
        ([FakeArray(1024), FakeArray(2048, device=1)], "argument y is on device 1"),
        ([FakeArray(1024)], "expected 2 arrays"),
    ]:
        with pytest.raises(IrcError, match=message):
            program.bind(arrays, as_graph=False)
    assert not launches(device)


def a_graph(*arrays: FakeArray, program: CudaProgram | None = None) -> Graph:
    graph = (program or a_program()).bind(arrays, as_graph=True)
    assert isinstance(graph, Graph)
    return graph


def noted(device: NotingDevice) -> list[tuple[Any, ...]]:
    """What was asked of the device since, but for being used."""
    calls = [call for call in device.calls if call[0] != "use"]
    device.calls.clear()
    return calls


def test_a_graph_is_captured_once_and_copies_the_arguments_that_change(
    device: NotingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "UPDATED_NODES", 0)
    graph = a_graph(FakeArray(1024), FakeArray(2048))
    captured = [call for call in noted(device) if call[0] in ("begin_capture", "launch", "end_capture")]
    assert [call[0] for call in captured] == ["begin_capture", "launch", "end_capture"]
    assert captured[1][2] == [1024, 2048, 8192]
    assert graph() == "made"
    graph(FakeArray(1024), FakeArray(2048), stream=99)
    assert [(call[0], call[2]) for call in noted(device)] == [("replay", 7), ("replay", 99)]
    graph(FakeArray(1024), FakeArray(4096))
    allocated, _, begin, copy, launch, end, replay = noted(device)
    buffer = launch[2][1]
    assert (allocated[:2], launch[2]) == (("allocate", 16), [1024, buffer, 8192])
    assert (begin[0], copy[:4], end[0], replay[0]) == (
        "begin_capture",
        ("copy", buffer, 4096, 16),
        "end_capture",
        "replay",
    )
    graph(FakeArray(1024), FakeArray(2048))
    graph()
    assert [call[:2] for call in noted(device)] == [("copy from", 2048), replay[:2], replay[:2]]
    with pytest.raises(IrcError, match="argument y cannot be used in place"):
        graph(FakeArray(1024), FakeArray(4100))


@pytest.mark.parametrize("limit", [("COPIED_BYTES", 15), ("UPDATED_NODES", 1)])
def test_a_graph_writes_the_addresses_of_arguments_that_are_large_or_that_few_nodes_see(
    device: NotingDevice, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, int]
) -> None:
    monkeypatch.setattr(bound, "UPDATED_NODES", 0)
    monkeypatch.setattr(bound, *limit)
    graph = a_graph(FakeArray(1024), FakeArray(2048))
    noted(device)
    graph(FakeArray(1024), FakeArray(4096))
    update, replay = noted(device)
    assert (update[0], update[3], replay[0]) == ("update", [1024, 4096, 8192], "replay")


def test_a_graph_that_copies_an_argument_to_a_result_is_captured_again(device: NotingDevice) -> None:
    plan = Plan("f", 0, 1, 0, (), (Copy(ARGUMENTS[0], Buffer("result", 0, 0, 16), 0),))
    result = ArraySpec("0", (4,), "f32")
    program = CudaProgram(Artifact("sm_90a", SPECS, (result,), plan.to_json(), {}, ()))
    graph = a_graph(FakeArray(1024), FakeArray(2048), program=program)
    graph(FakeArray(1024), FakeArray(4096))
    assert [call[0] for call in noted(device)].count("begin_capture") == 1
    graph(FakeArray(512), FakeArray(4096))
    calls = noted(device)
    assert [call[0] for call in calls].count("begin_capture") == 1
    (buffer,) = [call[2] for call in calls if call[:2] == ("copy", 8192)]
    assert [call[2] for call in calls if call[:2] == ("copy", buffer)] == [512]


def test_a_graph_that_is_captured_again_and_again_sees_all_that_changed(
    device: NotingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x is copied by the plan, too, and larger than what gets a buffer."""
    monkeypatch.setattr(bound, "COPIED_BYTES", 15)
    graph = a_graph(FakeArray(1024), FakeArray(2048), program=a_program(COPYING))
    for x, y in ((512, 2048), (256, 4096), (128, 4096)):
        noted(device)
        graph(FakeArray(x), FakeArray(y))
        calls = noted(device)
        assert [call[2][:2] for call in calls if call[0] == "launch"] == [[x, y]]
        assert [call[2] for call in calls if call[0] == "copy"] == [x]


def test_a_graph_is_captured_again_after_a_capture_that_failed(device: NotingDevice) -> None:
    graph = a_graph(FakeArray(1024), FakeArray(2048), program=a_program(COPYING))
    device.failing = "k"
    with pytest.raises(IrcError, match="kernel k failed"):
        graph(FakeArray(512), FakeArray(2048))
    device.failing = None
    noted(device)
    graph(FakeArray(512), FakeArray(2048))
    calls = noted(device)
    (buffer,) = [call[1] for call in calls if call[0] == "copy" and call[2] == 512]
    assert [call[2][:2] for call in calls if call[0] == "launch"] == [[buffer, 2048]]
    assert ("copy", 8192, buffer) in [call[:3] for call in calls]


def test_a_graph_uses_its_device_before_it_writes_to_nodes(
    device: NotingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeLibrary, "quick", lambda self, specs: lambda arrays, device: [x.address for x in arrays])
    graph = a_graph(FakeArray(1024), FakeArray(2048))
    device.calls.clear()
    graph(FakeArray(512), FakeArray(2048))
    assert [call[0] for call in device.calls] == ["use", "update", "replay"]


@pytest.mark.parametrize("arrays", [(), (FakeArray(1024), FakeArray(2048))])
def test_a_graph_writes_all_again_after_an_update_that_failed(
    device: NotingDevice, arrays: tuple[FakeArray, ...]
) -> None:
    graph = a_graph(FakeArray(1024), FakeArray(2048))
    device.refuses_updates = True
    with pytest.raises(IrcError, match="the CUDA driver failed"):
        graph(FakeArray(1024), FakeArray(4096))
    device.refuses_updates = False
    noted(device)
    graph(*arrays)
    update, replay = noted(device)
    assert (update[0], update[3], replay[0]) == ("update", [1024, 2048 if arrays else 4096, 8192], "replay")


def test_a_capture_that_fails_is_ended(device: NotingDevice) -> None:
    device.failing = "k"
    with pytest.raises(IrcError, match="kernel k failed"):
        a_program().bind([FakeArray(1024), FakeArray(2048)], as_graph=True)
    assert ("drop_capture", 101) in device.calls
    assert 101 in device.spare


class Quick(FakeLibrary):
    """Takes arrays at even addresses at once."""

    def quick(self, specs: Any) -> Any:
        return lambda arrays, device: [a.address for a in arrays] if all(a.address % 16 == 0 for a in arrays) else None


def test_arrays_that_fit_are_taken_at_once_and_others_one_by_one(
    device: NotingDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Quick()
    monkeypatch.setitem(libraries._LIBRARIES, FakeArray, library)
    taken: list[int] = []
    take = Quick.take
    monkeypatch.setattr(Quick, "take", lambda *a: (taken.append(a[2].address), take(*a))[1])
    program = a_program()
    program.run([FakeArray(1024), FakeArray(2048)], None)
    assert not taken
    program.run([FakeArray(1024), FakeArray(2052)], 99)
    assert taken == [1024, 2052]
    assert Quick.entered == [99]
    assert [stream for _, stream in launches(device)] == [7, 99]


def test_results_are_written_to_the_arrays_that_are_given_for_them(device: NotingDevice) -> None:
    program = a_program()
    out = FakeArray(4096)
    assert program.run([FakeArray(1024), FakeArray(2048)], None, (out,)) == [out]
    assert program.run([FakeArray(1024), FakeArray(2048)], None, (None,)) == ["made"]
    assert [arguments for arguments, _ in launches(device)] == [[1024, 2048, 4096], [1024, 2048, 8192]]
    for array, message in [
        (FakeArray(4100), "result 0 cannot be written to the array given for it"),
        (FakeArray(2040 + 16 - 8), "result 0 shares memory with argument y"),
        (FakeArray(4096, device=1), "result 0 cannot be written"),
        (np.ones(4, np.float32), "the array given for result 0 is on the host"),
    ]:
        with pytest.raises(IrcError, match=message):
            program.run([FakeArray(1024), FakeArray(2048)], None, (array,))
    given = np.zeros(4, np.float32)
    (found,) = program.run([np.ones(4, np.float32)] * 2, None, (given,))
    assert found is given


def test_a_launcher_takes_addresses(device: NotingDevice) -> None:
    a_program().launcher(0)([1024, 2048], [4096], 7)
    assert launches(device) == [([1024, 2048, 4096], 7)]


def a_donating_program() -> CudaProgram:
    """The result is written over y."""
    plan = replace(PLAN, steps=(replace(PLAN.steps[0], parameters=(*ARGUMENTS, ARGUMENTS[1])),), donated=((0, 1),))
    kernels = (KernelBinary("k", "", "", b"", "f.irc:3:5"),)
    result = ArraySpec("0", (4,), "f32")
    return CudaProgram(Artifact("sm_90a", SPECS, (result,), plan.to_json(), {}, kernels))


def test_a_donated_argument_is_the_result(device: NotingDevice) -> None:
    program = a_donating_program()
    x, y = FakeArray(1024), FakeArray(2048)
    assert program.run([x, y], None) == [y]
    assert launches(device) == [([1024, 2048, 2048], 7)]
    for arrays, out, message in [
        ([x, FakeArray(2052)], (), "argument y is donated, and cannot be used in place"),
        ([x, FakeArray(1024)], (), "argument y shares memory with argument x, and one of them is donated"),
        ([x, y], (FakeArray(4096),), "result 0 is written over a donated argument"),
    ]:
        with pytest.raises(IrcError, match=message):
            program.run(arrays, None, out)
    assert program.run([x, y], None, (None,)) == [y]


def test_donated_arrays_of_the_host_stay_as_they_are(device: NotingDevice) -> None:
    x, y = (np.full(4, value, np.float32) for value in (1, 2))
    (result,) = a_donating_program().run([x, y], None)
    first = 1 << 20
    assert result is not y
    assert [call[1:] for call in device.calls if call[0] == "copy"][-1] == (result.ctypes.data, first + 8192, 16, 100)


def test_a_graph_follows_its_donated_argument(device: NotingDevice) -> None:
    graph = a_graph(x := FakeArray(1024), y := FakeArray(2048), program=a_donating_program())
    assert graph() is y
    other = FakeArray(4096)
    noted(device)
    assert graph(x, other) is other
    update, replay = noted(device)
    assert (update[0], update[3], replay[0]) == ("update", [1024, 4096, 4096], "replay")


def test_irc_arrays_are_taken_as_they_are(device: NotingDevice) -> None:
    def release() -> None: ...

    program = a_program()
    x, y = (DeviceArray(address, (4,), "f32", 0, release) for address in (1024, 2048))
    (made,) = program.run([x, y], None)
    assert isinstance(made, DeviceArray)
    assert launches(device) == [([1024, 2048, made.address], LEGACY_STREAM)]
    with pytest.raises(IrcError, match="argument y: expected f32\\[4\\], found i32\\[4\\]"):
        program.run([x, DeviceArray(2048, (4,), "i32", 0, release)], None)


def test_another_architecture_gets_ptx() -> None:
    artifact = compile_artifact("func f(x: f32[8]) -> f32[8] {\n    return x + 1\n}\n", arch="sm_80")
    assert loadable(artifact, "sm_80") is artifact
    (kernel,) = loadable(artifact, "sm_90a").kernels
    assert b".target sm_80" in kernel.cubin and kernel.cubin.endswith(b"\0")
