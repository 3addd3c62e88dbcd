"""Saved executables from C on the target cuda, on a driver without a GPU that notes what is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from native_programs import called, changed, fake_driver, loaded, needed, runner

from irc.runtime import saved
from irc.runtime.artifact import ArraySpec, Artifact, KernelBinary
from irc.runtime.plan import Buffer, Copy, Launch, Memset, Plan, Record, Scalar, TensorMap, Wait

pytestmark = needed


def _launch(kernel: str, *parameters: Any, **options: Any) -> Launch:
    standard: dict[str, Any] = {"grid": (4, 1, 1), "block": 128, "cluster": (1, 1, 1), "shared": 0, "stream": 0}
    return Launch(kernel=kernel, parameters=parameters, **standard | options)


X, W, Y = (Buffer(space, index, 0, 64) for space, index in (("argument", 0), ("argument", 1), ("result", 0)))  # pyright: ignore[reportArgumentType]
IN_ARENA, CONSTANT = Buffer("arena", 0, 256, 64), Buffer("constant", 0, 0, 8)
TILED = TensorMap(X, "f32", (4, 4), (4, 1), (2, 4), 128)
WINDOW = TensorMap(W, "bf16", (1, 2, 2, 8), (32, 16, 8, 1), (16, 8), 64, (-1, -2), (1, 2), (1, 2))
PLAN = Plan(
    "f",
    arena=512,
    streams=2,
    events=1,
    constants=(b"ABCDEFGH",),
    steps=(
        Memset(IN_ARENA, 0, 0),
        _launch("one", X, TILED, CONSTANT, Scalar("i32", -5), cluster=(2, 1, 1), shared=50000, overlaps=True),
        Record(0, 0),
        Wait(0, 1),
        _launch("two", IN_ARENA, WINDOW, W, X, WINDOW, Y, grid=(1, 2, 6), stream=1, sets=2, max_sets=3),
        Copy(IN_ARENA, Y, 0),
    ),
)
SIZES = "one=8,128,8,4 second=8@0,128@64,8@192,8@256,128@320,8@448"


def cuda_file(path: Path, arch: str = "sm_90a", plan: Plan = PLAN) -> Path:
    arrays = [ArraySpec("x", (4, 4), "f32"), ArraySpec("w", (32,), "bf16")]
    entries = {"one": "", "two": "second"}
    kernels = tuple(KernelBinary(name, "", "", b"\x7fELF" + name.encode(), "?", entries[name]) for name in entries)
    artifact = Artifact(arch, tuple(arrays), (ArraySpec("0", (16,), "f32"),), plan.to_json(), {"kernels": []}, kernels)
    saved.save(artifact, path, {"w": np.frombuffer(b"wwww" * 16, ml_dtypes.bfloat16)})
    return path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file with what is called of the driver."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_driver()))
    monkeypatch.setenv("FAKE_CUDA_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("FAKE_CUDA_SIZES", SIZES)
    return tmp_path / "log"


def test_a_plan_is_enqueued_on_a_gpu(fake: Path, tmp_path: Path) -> None:
    np.frombuffer(b"xxxx" * 16, np.float32).tofile(tmp_path / "x.bin")
    assert "f for cuda" in called(runner(), cuda_file(tmp_path / "f.irx"), tmp_path, 2)
    lines = fake.read_text().splitlines()
    window = "map 9 0+768 8/1 2/2 2/1 1/1 *16 *32 *64 box -2..2,-1..1,8,16 swizzle 2"
    run = [
        "fill 0+256 0 64 on 100",
        "launch one 4,1,1 block 128 shared 50000 on 100: 1+0 {map 7 1+0 4/1 4/1 *16 box 4,2 swizzle 3} 0+512 -5 cluster 2,1,1 overlaps",
        "record 102 on 100",
        "wait 101 for 102 0",
        f"launch second 1,2,6 block 128 shared 0 on 101: 0+256 {{{window}}} 0+768 1+0 {{{window}}} 1+256",
        "copy 1+256 0+256 64 on 100",
    ]
    assert lines[: lines.index("synchronize 100")] == [
        *("init 0", "retain 7", "stream 100 1", "stream 101 1", "event 102 2", "event 103 2", "event 104 2"),
        *("load one", "function one", "attribute one 8 50000", "load two", "function second"),
        *("allocate 0 1024", "copy 0+512 hostABCD 8 on 100", "copy 0+768 hostwwww 64 on 100"),
    ]
    first = lines.index("allocate 1 768")
    assert lines[first + 1] == "copy 1+0 hostxxxx 64 on 100"
    assert [line for line in lines[first + 2 :] if not line.startswith("encode")][:9] == [
        *("record 103 on 100", "wait 101 for 103 0"),
        *run,
        "record 104 on 100",
    ]
    assert {line for line in lines if line.startswith("encode")} == {"encode at 0"}
    assert (tmp_path / "result0.bin").read_bytes() == bytes(64)
    assert lines[-9:] == [
        *(f"destroy {n}" for n in (101, 102, 100, 103, 104)),
        "unload one",
        "unload second",
        "free 0+0",
        "release 7 left 0",
    ]


FAILED = "CUDA_ERROR_LAUNCH_FAILED: as the test wants it"
REFUSED = {
    "init": "start the driver",
    "load": "load kernel one",
    "attribute": "have the shared memory of kernel one",
    "allocate": "have memory of the GPU",
    "encode": "make a tensor map",
    "launch": "launch kernel one",
    "wait": "wait for an event",
    "synchronize": "copy to the GPU",
}


@long(2)
@pytest.mark.parametrize("function", REFUSED)
def test_a_driver_that_refuses(fake: Path, tmp_path: Path, function: str) -> None:
    printed = called(runner(), cuda_file(tmp_path / "f.irx"), tmp_path, code=1, FAKE_CUDA_FAILS=function)
    assert f"error: cannot {REFUSED[function]}: {FAILED}\n" in printed
    if function != "init":
        assert fake.read_text().endswith("release 7 left 0\n")


def test_another_gpu_and_none(fake: Path, tmp_path: Path) -> None:
    other, empty = cuda_file(tmp_path / "f.irx", "sm_80"), tmp_path / "empty"
    empty.mkdir()
    (empty / "libcuda.so.1").write_bytes(b"")
    assert loaded(other) == ["2 it is for sm_80, and GPU 0 is of compute capability 9.0; compile it for that one"]
    assert loaded(other, FAKE_CUDA_NONE="1") == ["2 there is no GPU 0: the driver has 0"]
    assert loaded(other, LD_LIBRARY_PATH=str(empty)) == [
        "2 it is for a CUDA GPU, and here is no driver of one (libcuda.so.1)"
    ]


@pytest.mark.usefixtures("fake")
def test_plans_that_c_does_not_run(tmp_path: Path) -> None:
    good = cuda_file(tmp_path / "f.irx")

    def with_dim(tree: dict[str, Any]) -> None:
        tree["plan"]["dims"] = [{"is": "Dim"}]

    def beyond(tree: dict[str, Any]) -> None:
        tree["plan"]["steps"][0]["buffer"]["size"] = 300

    files = [
        changed(good, "dim.irx", with_dim),
        changed(good, "beyond.irx", beyond),
        changed(good, "code.irx", lambda tree: tree["kernels"].pop()),
    ]
    assert loaded(*files) == [
        "1 its extents are known when it is called, which Python alone runs: compile one size",
        "1 its document has no size where an integer of its range is expected",
        "1 it has no machine code of kernel two",
    ]
