"""Saved executables: what runs without the compiler, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from noting_device import NotingDevice

import irc
from irc.driver.compiler import compile_artifact
from irc.runtime import cuda, saved
from irc.support import llvm
from irc.support.diagnostics import IrcError
from irc_tools import compile as irc_compile
from irc_tools import run as irc_run

TEXT = """\
func f(x: f32[300, 200], w: f32[200, 64], b: f32[64], i: i32[8]) -> (f32[300, 64], f32[8, 64]) {
    y = softmax(x @ w + b)
    return y, take(y, i)
}
"""
SMALL = "func f(x: f32[8, 4]) -> f32[8] {\n    return sum(exp(x), axis=1)\n}"


def arrays(exe: irc.Executable) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.standard_normal(spec.shape).astype(np.float32)
        if spec.element == "f32"
        else random.integers(0, 300, spec.shape).astype(spec.dtype)
        for spec in exe.arguments
    ]


@pytest.fixture(scope="module")
def exe() -> irc.Executable:
    return irc.compile(TEXT, "cpu")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "small.irx"
    irc.compile(SMALL, "cpu").save(path)
    return path


def test_what_is_loaded_computes_the_same_bits(exe: irc.Executable, tmp_path: Path) -> None:
    exe.save(tmp_path / "f.irx")
    found, given = irc.load(tmp_path / "f.irx"), arrays(exe)
    assert repr(found) == repr(exe)
    for one, other in zip(found(*given), exe(*given), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [part.name for part in found.profile(*given, repetitions=1).parts]


def test_weights_are_arguments_no_more(exe: irc.Executable, tmp_path: Path) -> None:
    x, w, b, i = arrays(exe)
    exe.save(tmp_path / "f.irx", {"w": w, "b": b})
    found = irc.load(tmp_path / "f.irx")
    assert [spec.name for spec in found.arguments] == ["x", "i"]
    np.testing.assert_array_equal(found(x, i)[0], exe(x, w, b, i)[0])
    with pytest.raises(IrcError, match=r"expected 2 arrays \(x: f32\[300, 200\], i: i32\[8\]\), found 4"):
        found(x, w, b, i)
    with pytest.raises(IrcError, match="there is no argument v"):
        exe.save(tmp_path / "g.irx", {"v": w})
    with pytest.raises(IrcError, match=r"argument w: expected f32\[200, 64\], found f32\[64, 200\]"):
        exe.save(tmp_path / "g.irx", {"w": w.T})
    assert not (tmp_path / "g.irx").exists()


def test_narrow_weights(tmp_path: Path) -> None:
    exe = irc.compile("func f(x: bf16[8], w: bf16[8]) -> bf16[8] {\n    return x * w\n}", "cpu")
    w = np.arange(8).astype(ml_dtypes.bfloat16)
    exe.save(tmp_path / "f.irx", {"w": w})
    np.testing.assert_array_equal(irc.load(tmp_path / "f.irx")(w).astype(np.float32), np.arange(8.0) ** 2)


def test_no_compiler_is_imported(exe: irc.Executable, tmp_path: Path) -> None:
    exe.save(tmp_path / "f.irx", {"w": arrays(exe)[1]})
    code = """
import sys, irc, numpy as np
exe = irc.load(sys.argv[1])
exe(*[np.zeros(spec.shape, spec.dtype) for spec in exe.arguments])
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("irc.")}
assert rooms <= {"runtime", "support"}, rooms
assert not [name for name in sys.modules if name.partition(".")[0] in ("xdsl", "lark", "torch", "irc_frontend")]
"""
    command = [sys.executable, "-c", code, str(tmp_path / "f.irx")]
    run = subprocess.run(command, env={"PYTHONPATH": ":".join(sys.path)}, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_what_is_interpreted_is_saved_too(tmp_path: Path) -> None:
    exe = irc.compile(
        "func f(x: f8e4m3[64], y: f32[64]) -> (f8e4m3[64], f32[64]) {\n    return x * 2.0, exp(y)\n}", "cpu"
    )
    exe.save(tmp_path / "f.irx")
    doubled, power = irc.load(tmp_path / "f.irx")(np.ones(64, ml_dtypes.float8_e4m3fn), np.zeros(64, np.float32))
    np.testing.assert_array_equal(doubled.astype(np.float32), 2.0)
    np.testing.assert_array_equal(power, 1.0)


def test_no_bit_may_flip(small: Path, tmp_path: Path) -> None:
    content, path = small.read_bytes(), tmp_path / "bad.irx"
    for position in range(0, len(content), 17):
        path.write_bytes(content[:position] + bytes([content[position] ^ 16]) + content[position + 1 :])
        with pytest.raises(IrcError, match=r"bad\.irx is (damaged|no saved executable)"):
            irc.load(path)


def test_nothing_may_be_missing(small: Path, tmp_path: Path) -> None:
    content, path = small.read_bytes(), tmp_path / "short.irx"
    for size in [*range(0, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(IrcError, match=r"short\.irx is (damaged|no saved executable)"):
            irc.load(path)
    path.write_bytes(content + b"more")
    with pytest.raises(IrcError, match="is damaged: 4 bytes follow it"):
        irc.load(path)


def test_other_files_and_versions(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IrcError, match=r"cannot read .*absent\.irx"):
        irc.load(tmp_path / "absent.irx")
    monkeypatch.setattr(saved, "FORMAT", saved.FORMAT + 1)
    with pytest.raises(IrcError, match=r"is of format 2, which irc .* wrote; irc .* reads format 3"):
        irc.load(small)


def test_another_cpu(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triple, _, features = llvm.host()
    feature = next(each for each in features.split(",") if each.startswith("+"))
    others = features.replace(feature, f"-{feature[1:]}", 1)
    monkeypatch.setattr(llvm, "host", lambda: (triple, "lesser", others))
    with pytest.raises(IrcError, match=rf"is for another CPU .*: this one \(lesser\) lacks {feature[1:]}"):
        irc.load(small)
    monkeypatch.setattr(llvm, "host", lambda: ("riscv64-unknown-none", "other", ""))
    with pytest.raises(IrcError, match="this system is riscv64-unknown-none"):
        irc.load(small)


def test_a_gpu_loads_what_was_compiled_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, device = tmp_path / "f.irx", NotingDevice()
    saved.save(compile_artifact(SMALL, arch="sm_90a"), path)
    monkeypatch.setattr(saved, "require_device", lambda: None)
    monkeypatch.setattr(saved, "present_arch", lambda: "sm_80")
    with pytest.raises(IrcError, match=r"f\.irx is for sm_90a, and this GPU is sm_80"):
        irc.load(path)
    loaded: list[tuple[bytes, str]] = []
    monkeypatch.setattr(saved, "present_arch", lambda: "sm_90a")
    monkeypatch.setattr(device, "load", lambda cubin, kernel, shared: loaded.append((cubin, kernel)) or kernel)
    monkeypatch.setattr(cuda, "device", lambda ordinal=0: device)
    found = irc.load(path)
    found.launcher()([1 << 20], [1 << 21], 100)
    compiled = compile_artifact(SMALL, arch="sm_90a")
    assert loaded == [(kernel.cubin, kernel.name) for kernel in compiled.kernels]
    assert found.kernels == compiled.manifest["kernels"]


def test_what_has_no_machine_code(tmp_path: Path) -> None:
    with pytest.raises(IrcError, match="f has no machine code to save"):
        irc.compile(SMALL, "interpret").save(tmp_path / "f.irx")
    sized = irc.compile("dim N in 1..64\n" + SMALL.replace("8, 4", "N, 4").replace("f32[8]", "f32[N]"), "cpu")
    with pytest.raises(IrcError, match="f has no machine code to save"):
        sized.save(tmp_path / "f.irx")
    sized.at(N=8).save(tmp_path / "f.irx")
    x = np.ones((8, 4), np.float32)
    np.testing.assert_allclose(irc.load(tmp_path / "f.irx")(x), 4 * np.e, rtol=1e-6)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, file = tmp_path / "f.irc", tmp_path / "f.irx"
    program.write_text(SMALL)
    assert irc_compile.main([str(program), "-o", str(file)]) == 0
    assert f"wrote {file} for sm_" in capsys.readouterr().out
    assert irc_compile.main([str(program), "-o", str(file), "--target", "cpu"]) == 0
    assert f"wrote {file} for cpu" in capsys.readouterr().out
    assert irc_run.main([str(file), "--output", str(tmp_path / "results")]) == 0
    assert "f on cpu: loaded in" in capsys.readouterr().out
    assert np.load(tmp_path / "results" / "0.npy").shape == (8,)
    for arguments, message in [
        ([str(file), "--check"], "--check is for a program"),
        ([str(file), "-D", "N=3"], "-D is for a program"),
        ([str(file), "--time-passes"], "no passes to report on"),
        ([str(file), "--target", "cuda"], "is for the target cpu, found --target cuda"),
    ]:
        assert irc_run.main(arguments) == 1
        assert message in capsys.readouterr().err
    assert irc_compile.main([str(program), "--target", "cpu"]) == 1
    assert "--target and --weights are of a saved executable" in capsys.readouterr().err
