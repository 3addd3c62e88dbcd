"""The cuda runtime without a GPU: argument packing, tensor maps, DLPack, the executor on a device that only notes calls."""

from __future__ import annotations

import ctypes
import gc
import struct
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irc.artifact import Artifact, KernelBinary
from irc.diagnostics import IrcError, Span
from irc.runtime import executor as executing
from irc.runtime import launches
from irc.runtime.dlpack import CUDA, DeviceArray, is_on_device, read_capsule, row_major
from irc.runtime.driver import DriverError
from irc.runtime.executor import Executor
from irc.runtime.launches import Arguments
from irc.runtime.libraries import stream_handle
from irc.runtime.plan import Buffer, Copy, Launch, Memset, Plan, Record, Scalar, TensorMap, Wait
from irc.runtime.tensor_map import data_type, driver_lists

ARGUMENT = Buffer("argument", 0, 0, 64)
RESULT = Buffer("result", 0, 0, 64)
SCRATCH = Buffer("arena", 0, 256, 64)
MAP = TensorMap(ARGUMENT, "bf16", (128, 64), (64, 1), (64, 32), 64)


def a_launch(*parameters: Any, stream: int = 0, kernel: str = "k", shared: int = 0) -> Launch:
    return Launch(kernel, (2, 1, 1), 128, (1, 1, 1), shared, parameters, stream)


def pointers_of(arguments: Arguments, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(arguments.pointers))


def test_arguments_are_packed_with_their_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[tuple[int, int]] = []
    monkeypatch.setattr(launches, "encode", lambda map, address, storage: encoded.append((address, storage)))
    scalars = [Scalar("i32", -5), Scalar("f64", 2.5), Scalar("bf16", 1.5), Scalar("bool", 1), Scalar("f16", 0.5)]
    arguments = Arguments(a_launch(SCRATCH, MAP, RESULT, *scalars, MAP))
    places = pointers_of(arguments, 9)
    bases: launches.Bases = {"argument": [4096], "result": [8192], "arena": [1 << 40], "constant": []}
    arguments.fill(bases)
    assert ctypes.c_uint64.from_address(places[0]).value == (1 << 40) + 256
    assert ctypes.c_uint64.from_address(places[2]).value == 8192
    assert ctypes.string_at(places[3], 4) == struct.pack("<i", -5)
    assert ctypes.string_at(places[4], 8) == struct.pack("<d", 2.5)
    assert ctypes.string_at(places[5], 2) == ml_dtypes.bfloat16(1.5).tobytes()
    assert ctypes.string_at(places[6], 1) == b"\1"
    assert ctypes.string_at(places[7], 2) == np.float16(0.5).tobytes()
    assert [place % 64 for place in (places[1], places[8])] == [0, 0]
    assert all(place % 8 == 0 for place in places)
    assert encoded == [(4096, places[1]), (4096, places[8])]
    spans = sorted((place, 128 if index in (1, 8) else 8) for index, place in enumerate(places))
    assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))


def test_tensor_maps_are_encoded_again_only_when_their_array_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    monkeypatch.setattr(launches, "encode", lambda map, address, storage: encoded.append(address))
    arguments = Arguments(a_launch(MAP))
    for address in (4096, 4096, 8192, 4096):
        arguments.fill({"argument": [address], "result": [], "arena": [0], "constant": []})
    assert encoded == [4096, 8192, 4096]


def test_tensor_maps_are_in_the_drivers_order_and_units() -> None:
    extents, strides, box = driver_lists(TensorMap(ARGUMENT, "f32", (2, 128, 64), (8192, 64, 1), (1, 16, 32), 128))
    assert (extents, strides, box) == ([64, 128, 2], [256, 32768], [32, 16, 1])
    assert [data_type(name) for name in ("bf16", "f16", "f32", "f8e4m3", "i8", "u8", "i16")] == [9, 6, 7, 0, 0, 0, 1]


def test_dlpack_capsules_are_read() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, 1:]
    found = read_capsule(array.__dlpack__())
    assert (found.address, found.shape, found.strides, found.element) == (
        array.ctypes.data,
        (2, 2, 4),
        (12, 4, 1),
        "i16",
    )
    assert not found.is_contiguous
    assert read_capsule(array.copy().__dlpack__()).is_contiguous
    assert read_capsule(np.zeros((3, 1), bool)[:, ::1].__dlpack__()).element == "bool"
    assert not is_on_device(array)


@pytest.mark.parametrize(
    "element", ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "u8", "bool"]
)
def test_device_arrays_are_exported_and_freed_once(element: str) -> None:
    freed: list[int] = []
    array = DeviceArray(4096, (2, 0, 3), element, 1, lambda: freed.append(1))
    assert is_on_device(array)
    assert array.__dlpack_device__() == (CUDA, 1)
    capsule = array.__dlpack__(stream=7)
    found = read_capsule(capsule)
    assert (found.address, found.shape, found.strides, found.element, found.device) == (
        4096,
        (2, 0, 3),
        row_major((2, 0, 3)),
        element,
        1,
    )
    del array
    gc.collect()
    assert not freed
    del capsule, found
    gc.collect()
    assert freed == [1]


def test_a_consumer_frees_by_the_deleter() -> None:
    from irc.runtime import dlpack

    freed: list[int] = []
    array = DeviceArray(4096, (2,), "f32", 0, lambda: freed.append(1))
    capsule = array.__dlpack__()
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = (ctypes.py_object, ctypes.c_char_p)
    address = dlpack._api.PyCapsule_GetPointer(capsule, b"dltensor")
    rename(capsule, b"used_dltensor")
    del array, capsule
    gc.collect()
    assert not freed
    managed = dlpack._Managed.from_address(address)
    managed.deleter(ctypes.byref(managed))
    gc.collect()
    assert freed == [1]


def test_streams_are_taken_in_every_form() -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    class Torch:
        cuda_stream = 5

    class Cupy:
        ptr = 6

    assert [stream_handle(s) for s in (9, 0, Protocol(), Torch(), Cupy())] == [9, 1, 77, 5, 6]
    with pytest.raises(IrcError, match="expected a CUDA stream, found str"):
        stream_handle("main")


class NotingDevice:
    """Notes what is asked of it. Streams are 100, 101, ..., events 200, ..., memory 1 << 20, ..."""

    largest_shared = 1000

    def __init__(self, failing: str | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.streams, self.events, self.memory = 99, 199, 1 << 20
        self.spare: list[int] = []
        self.failing = failing

    def take_stream(self) -> int:
        self.streams += 1
        return self.streams

    def give_stream(self, stream: int) -> None:
        self.spare.append(stream)

    def take_event(self) -> int:
        self.events += 1
        return self.events

    def give_event(self, event: int) -> None:
        self.spare.append(event)

    def allocate(self, size: int, stream: int) -> int:
        self.memory += 4096
        self.calls.append(("allocate", size, stream))
        return self.memory

    def free(self, address: int, stream: int) -> None:
        self.calls.append(("free", address, stream))

    def load(self, cubin: bytes, kernel: str, shared: int) -> Any:
        if kernel == self.failing:
            raise DriverError("cuLibraryLoadData", "CUDA_ERROR_INVALID_IMAGE", "no kernel image")
        return kernel

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


class NotingConfig:
    failing = ""

    def __init__(self, *shape: Any):
        self.shape = shape

    def launch(self, kernel: Any, parameters: int, stream: int) -> None:
        if kernel == self.failing:
            raise DriverError("cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE", "invalid argument")
        NOTED.append(
            (
                "launch",
                kernel,
                self.shape,
                ctypes.c_uint64.from_address(ctypes.c_uint64.from_address(parameters).value).value,
                stream,
            )
        )


NOTED: list[tuple[Any, ...]] = []


def an_executor(monkeypatch: pytest.MonkeyPatch, plan: Plan, device: NotingDevice, failing: str = "") -> Executor:
    NOTED.clear()
    device.calls = NOTED
    monkeypatch.setattr(executing, "LaunchConfig", NotingConfig)
    monkeypatch.setattr(NotingConfig, "failing", failing)
    kernels = tuple(KernelBinary(name, "", "", b"", f"f.irc:{line}:3") for line, name in enumerate(["a", "b"], 7))
    return Executor(Artifact("sm_90a", (), (), plan.to_json(), {}, kernels), plan, device)  # pyright: ignore[reportArgumentType]


PLAN = Plan(
    "f",
    arena=512,
    streams=2,
    events=1,
    constants=(),
    steps=(
        a_launch(SCRATCH, kernel="a", stream=1),
        Record(0, 1),
        Memset(SCRATCH, 7, 0),
        Wait(0, 0),
        a_launch(RESULT, kernel="b"),
        Copy(ARGUMENT, RESULT, 0),
    ),
)


def test_a_plan_is_enqueued_in_order_on_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    device = NotingDevice()
    executor = an_executor(monkeypatch, PLAN, device)
    executor.enqueue([10], [20], 5)
    arena = (1 << 20) + 4096
    shape = ((2, 1, 1), 128, (1, 1, 1), 0)
    assert [
        ("allocate", 512, 5),
        ("record", 200, 5),
        ("wait", 200, 100),
        ("launch", "a", shape, arena + 256, 100),
        ("record", 201, 100),
        ("fill", arena + 256, 7, 64, 5),
        ("wait", 201, 5),
        ("launch", "b", shape, 20, 5),
        ("copy", 20, 10, 64, 5),
        ("free", arena, 5),
    ] == NOTED
    assert sorted(device.spare) == [100, 200, 201]


def test_a_failing_launch_names_the_kernel_and_its_place_and_frees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    device = NotingDevice()
    executor = an_executor(monkeypatch, PLAN, device, failing="b")
    with pytest.raises(IrcError, match="kernel b failed: cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE") as caught:
        executor.enqueue([10], [20], 5)
    assert caught.value.location == Span("f.irc", 8, 3)
    assert NOTED[-2:] == [("synchronise", 100), ("free", (1 << 20) + 4096, 5)]
    assert sorted(device.spare) == [100, 200, 201]


def test_a_kernel_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IrcError, match="cannot load kernel a: .*no kernel image") as caught:
        an_executor(monkeypatch, PLAN, NotingDevice(failing="a"))
    assert caught.value.location == Span("f.irc", 7, 3)
    large = Plan("f", 0, 1, 0, (), (a_launch(RESULT, kernel="a", shared=2000),))
    with pytest.raises(IrcError, match="kernel a needs 2000 bytes of shared memory, the device has 1000"):
        an_executor(monkeypatch, large, NotingDevice())


def test_plans_survive_json() -> None:
    import json

    plan = Plan("f", 1, 2, 3, (b"\0\xff",), (a_launch(MAP, SCRATCH, Scalar("f32", 0.5)), *PLAN.steps))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
