"""The cuda runtime without a GPU: argument packing, tensor maps, DLPack, the executor on a device that only notes calls."""

from __future__ import annotations

import ctypes
import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

import irc
from irc.runtime.artifact import DTYPES, ArraySpec, Artifact, KernelBinary
from irc.runtime.calls import data_type, swizzle_code
from irc.runtime.dlpack import CUDA, LEGACY_STREAM, DeviceArray, is_on_device, read_capsule
from irc.runtime.driver import DriverError
from irc.runtime.executor import KEPT_ARENA, Executor
from irc.runtime.launches import Cells, Slots
from irc.runtime.libraries import emptier, library_of, stream_handle
from irc.runtime.plan import Buffer, Copy, Launch, Memset, Plan, Record, Scalar, TensorMap, Wait
from irc.support.diagnostics import IrcError, Span
from irc.support.shapes import row_major

ARGUMENT = Buffer("argument", 0, 0, 64)
RESULT = Buffer("result", 0, 0, 64)
CONSTANT = Buffer("constant", 0, 0, 4)
SCRATCH = Buffer("arena", 0, 256, 64)
MAP = TensorMap(ARGUMENT, "bf16", (128, 64), (64, 1), (64, 32), 64)


def a_launch(*parameters: Any, stream: int = 0, kernel: str = "k", shared: int = 0) -> Launch:
    return Launch(kernel, (2, 1, 1), 128, (1, 1, 1), shared, parameters, stream)


def cells_of(*launches: Launch, slots: Slots, count: int) -> tuple[Cells, NotingDevice]:
    device = NotingDevice()
    return Cells(launches, slots, device.map_encoder, count), device


def values(launch: Launch, parameters: int) -> list[Any]:
    return NotingDevice().kernel_call(launch, "k", parameters).values()


def test_parameters_have_the_addresses_of_the_call_and_the_bits_of_numbers() -> None:
    numbers = [("i32", -5), ("f64", 2.5), ("bf16", 1.5), ("bool", 1), ("f16", 0.5), ("f8e4m3", 2.0), ("u8", 255)]
    numbers += [("f32", 0.0), ("f32", -0.0)]
    launch = a_launch(SCRATCH, MAP, RESULT, CONSTANT, *(Scalar(element, value) for element, value in numbers))
    cells, _ = cells_of(launch, slots=Slots(2, 1), count=6)
    cells.place([4096, 8192, 1 << 33, 1 << 40, 64, 128])
    scratch, map, result, constant, *scalars = values(launch, cells.parameters[0])
    assert (scratch, map, result, constant) == ((1 << 40) + 256, 4096, 1 << 33, 64)
    assert scalars == [np.array(value, DTYPES[element]).tobytes() for element, value in numbers]


def test_launches_share_cells_and_only_what_moved_is_written() -> None:
    first, second, third = a_launch(MAP, RESULT), a_launch(ARGUMENT, MAP), a_launch(SCRATCH)
    cells, device = cells_of(first, second, third, slots=Slots(1, 1), count=3)
    cells.place([4096, 8192, 1 << 20])
    assert device.calls == [("encode", MAP, 4096)]
    cells.place([4096, 8192, 1 << 20])
    cells.place([4096, 16384, 1 << 20])
    assert device.calls == [("encode", MAP, 4096)]
    cells.place([64, 16384, 1 << 20])
    assert device.calls[1:] == [("encode", MAP, 64)]
    assert [values(launch, at) for launch, at in zip((first, second, third), cells.parameters, strict=True)] == [
        [64, 16384],
        [64, 64],
        [(1 << 20) + 256],
    ]
    assert cells.users == [[0, 1], [0], [2]]


def test_sets_of_operands_lie_in_an_array_of_the_launchs_own() -> None:
    """Beside a launch that shares cells; a set that the launch does not have is not written."""
    number = Scalar("i32", 7)
    sets = (RESULT, MAP, number, SCRATCH, MAP, number)
    first = replace(a_launch(*sets), grid=(2, 1, 2), sets=2, max_sets=3)
    second, third = replace(a_launch(*sets[:3]), max_sets=3), a_launch(MAP, number)
    cells, device = cells_of(first, second, third, slots=Slots(1, 1), count=3)
    cells.place([4096, 8192, 1 << 20])
    seven = np.int32(7).tobytes()
    assert [values(launch, at) for launch, at in zip((first, second, third), cells.parameters, strict=True)] == [
        [8192, 4096, seven, (1 << 20) + 256, 4096, seven],
        [8192, 4096, seven],
        [4096, seven],
    ]
    assert device.calls == [("encode", MAP, 4096)] * 4
    cells.place([4096, 64, 1 << 20])
    assert device.calls == [("encode", MAP, 4096)] * 4
    assert values(first, cells.parameters[0])[0] == 64
    assert cells.users == [[0, 1, 2], [0, 1], [0]]


def test_maps_whose_address_is_a_word_are_written_without_the_driver() -> None:
    device = NotingDevice()
    device.map_word = 0
    first, second = a_launch(MAP, RESULT), replace(a_launch(SCRATCH, MAP), max_sets=2)
    cells = Cells((first, second), Slots(1, 1), device.map_encoder, 3)
    for argument in (4096, 64):
        cells.place([argument, 8192, 1 << 20])
        assert values(first, cells.parameters[0]) == [argument, 8192]
        assert values(second, cells.parameters[1]) == [(1 << 20) + 256, argument]
    assert not device.calls


def test_all_is_written_again_after_a_write_that_failed() -> None:
    cells, device = cells_of(a_launch(MAP), slots=Slots(1, 0), count=1)
    cells.place([4096])
    device.refuses_maps = True
    with pytest.raises(DriverError):
        cells.place([8192])
    device.refuses_maps = False
    cells.place([4096])
    assert [call[2] for call in device.calls] == [4096, 4096]


def test_tensor_maps_have_the_drivers_element_types() -> None:
    assert [data_type(name) for name in ("bf16", "f16", "f32", "f8e4m3", "i8", "u8", "i16")] == [9, 6, 7, 0, 0, 0, 1]
    assert [swizzle_code(size) for size in (0, 32, 64, 128)] == [0, 1, 2, 3]


def test_structs_have_the_drivers_sizes() -> None:
    from irc.runtime import calls

    sizes = [ctypes.sizeof(struct) for struct in (calls._Attribute, calls._Config, calls._NodeParameters)]
    assert sizes == [72, 56, 72]


class FakeDriver:
    """Has memory after it was asked for it `failures` times, and refuses by `status` until then."""

    def __init__(self, failures: int, status: int) -> None:
        self.failures, self.status = failures, status
        self.freed: list[tuple[int, int]] = []

    def cuMemAllocFromPoolAsync(self, address: Any, size: int, pool: int, stream: int) -> int:
        if self.failures:
            self.failures -= 1
            return self.status
        address.value = 4096
        return 0

    def cuMemFreeAsync(self, address: int, stream: int) -> int:
        self.freed.append((address, stream))
        return 0

    def cuStreamSynchronize(self, stream: int) -> int:
        return 0

    def cuGetErrorName(self, status: int, name: Any) -> int:
        return 0

    cuGetErrorString = cuGetErrorName


class FakePool:
    handle = 77


def a_device(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> tuple[Any, list[tuple[Any, ...]]]:
    """A device of 2 GiB, of which 1 is free, with the calls that it makes of cuda.bindings."""
    from irc.runtime import calls as fast
    from irc.runtime import device as wrapper

    calls: list[tuple[Any, ...]] = []

    def call(*arguments: Any) -> Any:
        calls.append(arguments)
        return 1 << 30, 1 << 31

    monkeypatch.setattr(wrapper, "_call", call)
    for module in (wrapper, fast):
        monkeypatch.setattr(module, "library", lambda: driver)
    made = wrapper.Device.__new__(wrapper.Device)
    made.__dict__["_pool"] = FakePool()
    return made, calls


OUT_OF_MEMORY, INVALID_VALUE = 2, 1


def test_memory_is_asked_for_again_after_the_pool_gave_back_what_it_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(1, OUT_OF_MEMORY)
    device, calls = a_device(monkeypatch, driver)
    memory = device.allocate(100, 9)
    assert memory.address == 4096
    assert calls == [("cuMemPoolTrimTo", 77, 0)]
    assert device.allocate(0, 9).address == 0
    memory.free(9)
    memory.free(9)
    del memory
    assert driver.freed == [(4096, 9)]
    device.allocate(1, 9)
    assert driver.freed[1:] == [(4096, LEGACY_STREAM)]


def test_memory_that_is_not_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = a_device(monkeypatch, FakeDriver(2, OUT_OF_MEMORY))
    with pytest.raises(IrcError, match=r"not enough device memory: 3\.00 GiB are needed, 1\.00 GiB of 2\.00 GiB are"):
        device.allocate(3 << 30, 9)
    broken, _ = a_device(monkeypatch, FakeDriver(1, INVALID_VALUE))
    with pytest.raises(DriverError, match="cuMemAllocFromPoolAsync"):
        broken.allocate(1, 9)


def test_a_new_tensor_has_the_shape_that_a_tensor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's private function takes tuples, of which `torch.Size` is none."""
    torch = pytest.importorskip("torch")
    guards = torch._C._dynamo.guards
    monkeypatch.setattr(guards, "_empty_strided_cuda", guards._empty_strided_cpu)
    x = torch.ones(2, 3).t()
    made = emptier(torch, x.shape, x.stride(), x.dtype)()
    assert (made.shape, made.stride(), made.dtype) == (x.shape, x.stride(), x.dtype)


def test_the_library_of_a_type_is_asked_once_and_none_is_for_host_arrays() -> None:
    array = DeviceArray(4096, (2,), "f32", 3, lambda: None)
    library = library_of(array)
    assert library is not None
    assert library is library_of(DeviceArray(0, (0,), "i8", 0, lambda: None))
    assert (library.is_on_device(array), library.device_of(array)) == (True, 3)
    assert [library_of(value) for value in (np.zeros(3), np.float32(1), [1.0], 2)] == [None] * 4
    taken = library.take(ArraySpec("x", (2,), "f32"), array, 1)
    assert (taken.address, taken.device) == (4096, 3)
    with pytest.raises(IrcError, match=r"argument x: expected i32\[2\], found f32\[2\]"):
        library.take(ArraySpec("x", (2,), "i32"), array, 1)


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
    gc.collect(1)  # of what is new: the whole heap of a run of all tests takes seconds
    assert not freed
    del capsule, found
    gc.collect(1)  # of what is new: the whole heap of a run of all tests takes seconds
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
    gc.collect(1)  # of what is new: the whole heap of a run of all tests takes seconds
    assert not freed
    managed = dlpack._Managed.from_address(address)
    managed.deleter(ctypes.byref(managed))
    gc.collect(1)  # of what is new: the whole heap of a run of all tests takes seconds
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


SPEC = ArraySpec("x", (16,), "f32")


def an_executor(plan: Plan, device: NotingDevice, cubin: bytes = b"") -> Executor:
    kernels = tuple(KernelBinary(name, "", "", cubin, f"f.irc:{line}:3") for line, name in enumerate(["a", "b"], 7))
    artifact = Artifact("sm_90a", (SPEC,), (SPEC,), plan.to_json(), {}, kernels)
    return Executor(artifact, plan, device)  # pyright: ignore[reportArgumentType]


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


def enqueued(arena: int, stream: int, side: int) -> list[tuple[Any, ...]]:
    """What a run of PLAN asks of the device."""
    return [
        ("record", 201, stream),
        ("wait", 201, side),
        ("launch", "a", [arena + 256], side),
        ("record", 200, side),
        ("fill", arena + 256, 7, 64, stream),
        ("wait", 200, stream),
        ("launch", "b", [20], stream),
        ("copy", 20, 10, 64, stream),
    ]


FIRST = (1 << 20) + 4096
"""The address of the first memory of a device."""


def test_a_plan_is_enqueued_in_order_on_its_streams_and_keeps_a_small_arena() -> None:
    device = NotingDevice()
    executor = an_executor(PLAN, device)
    executor.enqueue([10], [20], 5)  # pyright: ignore[reportArgumentType]
    assert device.calls == [
        ("allocate", 512, 100),
        ("synchronize", 100),
        *enqueued(FIRST, 5, 101),
        ("record", 202, 5),
    ]
    device.calls.clear()
    executor.enqueue([10], [20], 6)  # pyright: ignore[reportArgumentType]
    assert device.calls == [("wait", 202, 6), *enqueued(FIRST, 6, 102), ("record", 202, 6)]


def test_the_arena_passes_between_runs_on_the_default_stream_without_events() -> None:
    device = NotingDevice()
    plan = replace(PLAN, streams=1, steps=(a_launch(SCRATCH, kernel="a"),))
    executor = an_executor(plan, device)
    for stream in (LEGACY_STREAM, LEGACY_STREAM, 5, LEGACY_STREAM):
        executor.enqueue([10], [20], stream)
    asked = [(call[0], call[-1]) for call in device.calls if call[0] in ("record", "wait", "launch", "copy", "fill")]
    assert asked == [
        ("launch", LEGACY_STREAM),
        ("launch", LEGACY_STREAM),
        ("record", LEGACY_STREAM),
        ("wait", 5),
        ("launch", 5),
        ("record", 5),
        ("wait", LEGACY_STREAM),
        ("launch", LEGACY_STREAM),
    ]


@pytest.mark.parametrize("captured", [False, True])
def test_large_arenas_and_those_of_captured_runs_are_freed(captured: bool) -> None:
    device = NotingDevice()
    plan = PLAN if captured else replace(PLAN, arena=KEPT_ARENA + 1)
    device.capturing = 5 if captured else -1
    an_executor(plan, device).enqueue([10], [20], 5)  # pyright: ignore[reportArgumentType]
    assert device.calls == [("allocate", plan.arena, 5), *enqueued(FIRST, 5, 100), ("free", FIRST, 5)]


def test_constants_are_copied_once_and_passed() -> None:
    device = NotingDevice()
    plan = Plan("f", 0, 1, 0, (b"1234", b"56"), (a_launch(CONSTANT, Buffer("constant", 1, 0, 2), kernel="a"),))
    executor = an_executor(plan, device)
    copies = [call for call in device.calls if call[0] == "copy"]
    assert [(call[1], call[3]) for call in copies] == [((1 << 20) + 4096, 4), ((1 << 20) + 8192, 2)]
    executor.enqueue([10], [20], 5)  # pyright: ignore[reportArgumentType]
    assert device.calls[-1][2] == [(1 << 20) + 4096, (1 << 20) + 8192]


def test_a_failing_launch_names_the_kernel_and_its_place_and_frees_everything() -> None:
    device = NotingDevice(failing="b")
    executor = an_executor(PLAN, device)
    with pytest.raises(IrcError, match="kernel b failed: CUDA_ERROR_INVALID_VALUE") as caught:
        executor.enqueue([10], [20], 5)  # pyright: ignore[reportArgumentType]
    assert caught.value.location == Span("f.irc", 8, 3)
    assert device.calls[-2:] == [("synchronize", 101), ("record", 202, 5)]
    assert device.spare == [100, 101]


def test_every_launch_is_waited_for_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    device = NotingDevice()
    monkeypatch.setenv("IRC_SYNC", "1")
    executor = an_executor(PLAN, device)
    device.calls.clear()
    executor.enqueue([10], [20], 5)  # pyright: ignore[reportArgumentType]
    names = [call[0] for call in device.calls]
    assert [names[n + 1] for n, name in enumerate(names) if name == "launch"] == ["synchronize"] * 2


def test_a_kernel_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(IrcError, match="cannot load kernel a: .*no kernel image") as caught:
        an_executor(PLAN, NotingDevice(), cubin=b"broken")
    assert caught.value.location == Span("f.irc", 7, 3)
    large = Plan("f", 0, 1, 0, (), (a_launch(RESULT, kernel="a", shared=2000),))
    with pytest.raises(IrcError, match="kernel a needs 2000 bytes of shared memory, the device has 1000"):
        an_executor(large, NotingDevice())


def test_plans_survive_json() -> None:
    import json

    plan = Plan("f", 1, 2, 3, (b"\0\xff",), (a_launch(MAP, SCRATCH, Scalar("f32", 0.5)), *PLAN.steps))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_results_of_the_cpu_target_share_no_memory() -> None:
    """Equal results, and a result that is another one reshaped, are arrays of their own."""
    text = """func f(x: f32[2, 3]) -> (f32[2, 3], f32[6], f32[2, 3], f32[2, 3]) {
    y = x + 1
    return y, reshape(y, [6]), y, x
}
"""
    x = np.ones((2, 3), np.float32)
    arrays = [x, *irc.compile(text, "cpu")(x)]
    for position, a in enumerate(arrays):
        assert not any(np.may_share_memory(a, b) for b in arrays[:position])
