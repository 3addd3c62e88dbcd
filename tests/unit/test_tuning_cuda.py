"""The tuner's bench for GPUs, on a device whose memory is the host's: what is drawn, run, compared and timed."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from irc.configs.alone import parse_config
from irc.driver import measuring
from irc.driver.compiler import Options
from irc.driver.drawn_arguments import drawn_arguments
from irc.driver.lowering import lower
from irc.driver.measuring import CompiledJob, CudaBench, CudaCompiler, Job
from irc.driver.program import signature
from irc.driver.tuning import subject_of, tunable_kernels
from irc.ir.targets import set_target, target
from irc.language import parse
from irc.runtime.artifact import Artifact
from irc.runtime.driver import DriverError
from irc.tuning.bench import CRASHED, MEMORY, WRONG, Fault

SHAPE = (1 << 11, 1 << 10)
PROGRAM = f"func f(x: f32{list(SHAPE)}) -> f32{list(SHAPE)} {{ return x + 1.0 }}"


class Event:
    is_done = False

    def __init__(self) -> None:
        self.at = 0.0


class Memory:
    def __init__(self, size: int):
        self.buffer = ctypes.create_string_buffer(max(1, size))
        self.address = ctypes.addressof(self.buffer)

    def free(self, stream: Any) -> None:
        pass


class HostDevice:
    """Runs at once. Its clock goes on by what each program says that a call takes."""

    l2_bytes = 1 << 20

    def __init__(self) -> None:
        self.now = 0.0

    def take_stream(self) -> int:
        return 1

    def free_memory(self) -> int:
        return 1 << 30

    def allocate(self, size: int, stream: int) -> Memory:
        return Memory(size)

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        ctypes.memset(address, value, size)

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        ctypes.memmove(to, source, size)

    def event(self, *, timed: bool) -> Event:
        return Event()

    def record(self, event: Event, stream: int) -> None:
        event.at = self.now

    def seconds_between(self, begin: Event, end: Event) -> float:
        return end.at - begin.at

    def synchronize(self, stream: int) -> None:
        pass


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> CudaBench:
    """A bench whose programs behave by the number of warps of their kernel: 8 are right, in 10 us."""
    on = HostDevice()
    monkeypatch.setattr(measuring, "device", lambda: on)
    monkeypatch.setattr("irc.runtime.workbench.STALL_BYTES", 1 << 10)

    class Executor:
        def __init__(self, artifact: Artifact, plan: Any, device: Any):
            self._warps: int = artifact.manifest["kernels"][0]["block"][0] // 32
            if self._warps == 32:
                raise DriverError("cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY: out of memory")

        def enqueue(self, arguments: list[int], results: list[int], stream: int) -> None:
            if self._warps == 16:
                raise DriverError("cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access")
            x, y = (
                np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), SHAPE)
                for (address,) in (arguments, results)
            )
            np.add(x, 1, out=y)
            if self._warps == 2:
                y[-1, -1] = 0
            if self._warps == 1:
                y.ravel()[measuring.SAMPLE // measuring.PIECES] = np.nan  # behind the first piece
            on.now += {8: 10e-6, 4: 9e-6, 1: 8e-6}.get(self._warps, 30e-6)

    monkeypatch.setattr(measuring, "Executor", Executor)
    return CudaBench()


@pytest.fixture(scope="module")
def compiled() -> dict[int, CompiledJob]:
    """By warps."""
    module = parse(PROGRAM, "program", None)
    set_target(module, "sm_90a")
    (kernel,) = tunable_kernels(module, Options("sm_90a"))
    job = subject_of(kernel, target("sm_90a"), Options("sm_90a")).job
    compiler = CudaCompiler()
    configs = {n: parse_config(f"tile = {{d = 1024}}, warps = {n}") for n in (1, 2, 4, 8, 16, 32)}
    made: dict[int, Any] = {n: compiler.compile(job(config)) for n, config in configs.items()}
    assert all(isinstance(each.job, Job) and not each.is_loose for each in made.values())
    return made


def test_a_right_candidate_is_timed(bench: CudaBench, compiled: dict[int, CompiledJob]) -> None:
    assert bench.refer(compiled[8]).seconds == pytest.approx(10e-6)
    found = bench.measure(compiled[4], 1.2 * 10e-6)
    assert (found.seconds, found.is_stopped) == (pytest.approx(9e-6), False)
    assert bench.measure(compiled[8], 5e-6).is_stopped


def test_a_wrong_candidate_is_found(bench: CudaBench, compiled: dict[int, CompiledJob]) -> None:
    bench.refer(compiled[8])
    with pytest.raises(Fault, match="result 0 is not the heuristic's") as caught:
        bench.measure(compiled[2], 1.0)
    assert (caught.value.outcome, caught.value.is_fatal) == (WRONG, False)


def test_the_best_are_compared_whole(bench: CudaBench, compiled: dict[int, CompiledJob]) -> None:
    """What a sample of the results did not show."""
    bench.refer(compiled[8])
    assert bench.measure(compiled[1], 1.0).seconds == pytest.approx(8e-6)
    heuristic, best, wrong = bench.rank([compiled[8], compiled[4], compiled[1]])
    assert (heuristic, best) == (pytest.approx(10e-6), pytest.approx(9e-6))
    assert isinstance(wrong, Fault) and "NaN in one of result and reference only" in wrong.reason


def test_an_error_of_the_driver_ends_the_process(bench: CudaBench, compiled: dict[int, CompiledJob]) -> None:
    """But for memory that is not there."""
    bench.refer(compiled[8])
    with pytest.raises(Fault, match="ILLEGAL_ADDRESS") as caught:
        bench.measure(compiled[16], 1.0)
    assert (caught.value.outcome, caught.value.is_fatal) == (CRASHED, True)
    with pytest.raises(Fault, match="out of memory") as caught:
        bench.measure(compiled[32], 1.0)
    assert (caught.value.outcome, caught.value.is_fatal) == (MEMORY, False)


def drawn(text: str) -> list[Any]:
    """Values of the arguments of a program's kernels."""
    module = lower(parse(text, "f"), "kernel", arch="sm_90a")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return drawn_arguments(module, signature(function)[0])


def test_arguments_are_drawn_by_their_type() -> None:
    text = "func f(i: i32[100], k: i8[100], b: bool[100], x: bf16[10000], y: f32[4096, 4096], z: f64[0]) -> {} {{ {} }}"
    shapes = "(i32[100], i8[100], bool[100], bf16[10000], f32[4096, 4096], f64[0])"
    i, k, b, x, y, z = drawn(text.format(shapes, "return -i, -k, ~b, -x, -y, -z"))
    assert set(i) == {0}, "an index that there is"
    assert set(k) == set(b) == {0, 1}
    assert abs(x.astype(np.float32).std() - 1) < 0.1
    assert y.shape == (1 << 20,), "repeated by whoever fills an array"
    assert z.shape == (0,)


def test_integers_are_what_they_say_of_other_arguments() -> None:
    grouped = "func f(x: bf16[1024, 64], w: bf16[4, 64, 64], ends: i32[4]) -> bf16[1024, 64] {{ return {} }}"
    assert list(drawn(grouped.format("grouped_matmul(x, w, ends)"))[2]) == [256, 512, 768, 1024]
    summed = "func f(x: f32[8, 300], n: i64[8]) -> f32[8] {{ return sum(where({}, x, 0), axis=1) }}"
    positions = "iota([8, 300], i64, axis=1)"
    for seen in (f"{positions} < n[:, None]", f"cast(n, i64)[:, None] > {positions}"):
        assert set(drawn(summed.format(seen))[1]) == {300}
    assert set(drawn(summed.format(f"{positions} >= n[:, None]"))[1]) == {0}


@pytest.mark.parametrize("size", [1, measuring.SAMPLE, measuring.SAMPLE + 1, 3 * measuring.SAMPLE + 17])
def test_pieces_lie_apart_from_the_first_element_to_the_last(size: int) -> None:
    pieces = measuring._pieces(size, whole=False)
    whole = measuring._pieces(size, whole=True)
    assert (pieces[0].start, pieces[-1].stop) == (whole[0].start, whole[-1].stop) == (0, size)
    assert all(a.stop <= b.start for a, b in pairwise(pieces))
    assert all(a.stop == b.start for a, b in pairwise(whole))
    assert sum(each.stop - each.start for each in pieces) == min(size, measuring.SAMPLE)
    assert max(each.stop - each.start for each in whole) <= measuring.CHUNK


def test_differences_of_rounding_are_none() -> None:
    assert measuring._pieces(0, whole=False) == []
    x = np.linspace(-1, 1, 100, dtype=np.float32)
    assert measuring.difference(x + np.float32(3e-5), x, "f32", is_loose=False) == ""
    assert "over 2e-05" in measuring.difference(x + np.float32(1e-3), x, "f32", is_loose=False)
    assert measuring.difference(np.arange(3), np.arange(3), "i32", is_loose=False) == ""
    for special in (np.nan, np.inf):
        y = np.where(x == x[7], np.float32(special), x)
        assert measuring.difference(y, y.copy(), "f32", is_loose=False) == ""
        assert measuring.difference(y + np.float32(3e-5), y, "f32", is_loose=False) == ""
        assert (
            measuring.difference(x, y, "f32", is_loose=False) != "" != measuring.difference(y, x, "f32", is_loose=False)
        )
    assert measuring.difference(np.arange(3), np.zeros(3), "i32", is_loose=False) == "2 of 3 elements differ"


def test_a_cascade_rounds_its_weights_by_the_maximum_that_its_tiles_have_seen() -> None:
    text = "func f(q: bf16[64, 32], k: bf16[64, 32], v: bf16[64, 32]) -> f32[64, 32] {{ return {} }}"
    loose = [
        measuring.has_loose_sums(lower(parse(text.format(result), "f"), "kernel", arch="sm_90a"))
        for result in (
            "matmul(cast(softmax(matmul(q, transpose(k), dtype=f32)), bf16), v, dtype=f32)",
            "matmul(relu(q), transpose(k), dtype=f32)[:, :32]",
        )
    ]
    assert loose == [True, False]
    x = np.linspace(-1, 1, 100, dtype=np.float32)
    assert measuring.difference(x + np.float32(1e-3), x, "f32", is_loose=True) == ""
    assert measuring.difference(x + np.float32(1e-2), x, "f32", is_loose=True) != ""
