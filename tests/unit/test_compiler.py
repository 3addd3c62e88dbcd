"""`irc.compile`, its caches, and `Executable`, on the cpu target."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irc
from irc.driver.compiler import compile_artifact
from irc.driver.program import new_context
from irc.ir.dtypes import ELEMENTS
from irc.ir.parser import parse_ir
from irc.runtime.artifact import DTYPES, ArraySpec, Artifact, KernelBinary
from irc.runtime.driver import is_present
from irc.support import cache
from irc.support.diagnostics import IrcError

ADD = """
func.func @add(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %s = nd.add %x, %y : tensor<2x3xf32>
  %t = nd.sum %s {axes = [0]} : tensor<2x3xf32> -> tensor<3xf32>
  func.return %s, %t : tensor<2x3xf32>, tensor<3xf32>
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def add(tmp_path: Path) -> irc.Executable:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    return irc.compile(path, "cpu")


def test_a_call_gives_a_tuple_of_results(add: irc.Executable) -> None:
    total, columns = add(X, X)
    np.testing.assert_array_equal(total, X + X)
    np.testing.assert_array_equal(columns, (X + X).sum(0))
    assert [(spec.name, spec.shape, spec.dtype) for spec in add.arguments] == [
        ("x", (2, 3), np.dtype(np.float32)),
        ("y", (2, 3), np.dtype(np.float32)),
    ]
    assert [spec.type for spec in add.results] == ["f32[2, 3]", "f32[3]"]
    assert add.kernels == []
    assert repr(add) == "<irc.Executable add(x: f32[2, 3], y: f32[2, 3]) -> (f32[2, 3], f32[3]) on cpu>"


def test_arrays_in_other_orders_are_taken(add: irc.Executable) -> None:
    total, _ = add(np.asfortranarray(X), X.astype(">f4"))
    np.testing.assert_array_equal(total, X + X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((X,), r"expected 2 arrays \(x: f32\[2, 3\], y: f32\[2, 3\]\), found 1"),
        ((X, X.T), r"argument y: expected f32\[2, 3\], found f32\[3, 2\]"),
        ((X, X.astype(np.float64)), r"argument y: expected f32\[2, 3\], found f64\[2, 3\]"),
        ((X.astype(np.complex64), X), r"argument x: expected f32\[2, 3\], found complex64\[2, 3\]"),
        ((X, [[1.0]]), "argument y: expected an array .* found list"),
    ],
)
def test_wrong_arrays_are_one_clear_error(add: irc.Executable, arrays: tuple[object, ...], message: str) -> None:
    with pytest.raises(IrcError, match=message):
        add(*arrays)


def test_the_cpu_target_has_no_streams(add: irc.Executable) -> None:
    with pytest.raises(IrcError, match="no streams"):
        add(X, X, stream=1)


def test_irc_text_is_compiled() -> None:
    executable = irc.compile("dim N = 4\nfunc f(x: bf16[N]) -> bf16[N] {\n  return x + 1\n}", "cpu", dims={"N": 3})
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    result = executable(x)
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == [2, 3, 4]


def test_errors_of_text_have_a_place() -> None:
    with pytest.raises(IrcError) as caught:
        irc.compile("func f(x: f32[2]) -> f32[2] {\n  return x + z\n}", "cpu")
    assert str(caught.value).startswith("<string>:2:")


def test_compiling_again_gives_the_same_executable(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    first = irc.compile(path, "cpu")
    assert irc.compile(path, "cpu") is first
    module = parse_ir(new_context(), ADD, "one.mlir")
    moved = parse_ir(new_context(), "\n\n" + ADD, "two.mlir")
    assert irc.compile(module, "cpu") is irc.compile(moved, "cpu")
    path.write_text(ADD.replace("nd.add", "nd.sub"))
    assert irc.compile(path, "cpu") is not first


def test_the_last_function_is_the_entry_unless_one_is_named() -> None:
    two = ADD + ADD.replace("@add", "@other").replace("nd.add", "nd.sub")
    module = parse_ir(new_context(), two, "two.mlir")
    assert irc.compile(module, "cpu").name == "other"
    assert irc.compile(module, "cpu", func="add").name == "add"
    with pytest.raises(IrcError, match="no function named absent"):
        irc.compile(module, "cpu", func="absent")


def test_bad_requests_are_diagnostics(tmp_path: Path) -> None:
    module = parse_ir(new_context(), ADD, "add.mlir")
    with pytest.raises(IrcError, match="unknown target gpu"):
        irc.compile(module, "gpu")
    with pytest.raises(IrcError, match="no dims"):
        irc.compile(module, "cpu", dims={"N": 1})
    with pytest.raises(IrcError, match="cannot read"):
        irc.compile(tmp_path / "absent.irc", "cpu")
    for target in ("cuda", "cpu"):
        with pytest.raises(IrcError, match="unknown architecture sm_12"):
            irc.compile(module, target, arch="sm_12")
    with pytest.raises(IrcError, match="'model.irc' is no text of a program") as caught:
        irc.compile("model.irc", "cpu")
    assert caught.value.hint == "a file is a Path: Path('model.irc')"
    with pytest.raises(IrcError, match="expected one or|expects|expected"):
        irc.compile(parse_ir(new_context(), ADD.replace("axes = [0]", "axes = [7]"), "bad.mlir"), "cpu")


@pytest.mark.skipif(is_present(), reason="a GPU is present")
def test_a_gpu_is_asked_for_where_there_is_none() -> None:
    with pytest.raises(IrcError, match="no CUDA GPU is present"):
        irc.compile("func f(x: f32[2]) -> f32[2] {\n  return x\n}", "cuda")


def test_importing_irc_imports_nothing_else() -> None:
    code = "import sys, irc; sys.exit('xdsl' in sys.modules or 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert run.returncode == 0


def test_the_cache_knows_all_of_the_source() -> None:
    assert Path(irc.__file__).parent == cache.PACKAGE


def test_element_tables_agree() -> None:
    assert {element.name: element.dtype for element in ELEMENTS} == DTYPES


def an_artifact() -> Artifact:
    return Artifact(
        arch="sm_90a",
        arguments=(ArraySpec("x", (2, 3), "bf16"),),
        results=(ArraySpec("0", (), "f32"),),
        plan={"name": "f"},
        manifest={"kernels": [{"name": "f_0", "location": "f.irc:1:2"}]},
        kernels=(KernelBinary("f_0", "source é", "ptx", b"\0\1", "f.irc:1:2"),),
        levels={"nd": "module", "cuda": "kernel"},
    )


def locations(artifact: Artifact) -> list[str]:
    return [kernel.location for kernel in artifact.kernels]


def test_artifacts_survive_storage() -> None:
    stored = Artifact.from_bytes(an_artifact().to_bytes())
    assert stored.cached
    assert stored.kernels == an_artifact().kernels
    assert (stored.arguments, stored.results) == (an_artifact().arguments, an_artifact().results)
    assert stored.levels == an_artifact().levels
    assert stored.manifest == an_artifact().manifest


def test_equal_programs_share_an_artifact_and_keep_their_own_locations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    text = "func f(x: f32[4, 8]) -> f32[4] {\n  return sum(x + 1, axis=1)\n}"
    first, second = tmp_path / "first.irc", tmp_path / "second.irc"
    first.write_text(text)
    second.write_text("\n\n" + text)
    built = compile_artifact(first, arch="sm_90a")
    assert not built.cached
    (location,) = locations(built)
    assert location.startswith(f"{first}:2:")
    shared = compile_artifact(second, arch="sm_90a")
    assert shared.cached
    moved = location.replace(f"{first}:2:", f"{second}:4:")
    for _ in range(2):
        found = compile_artifact(second, arch="sm_90a")
        assert locations(found) == [moved]
        assert [kernel["location"] for kernel in found.manifest["kernels"]] == [moved]
    assert locations(compile_artifact(first, arch="sm_90a")) == [location]
    assert len(list((tmp_path / "cache" / "artifacts").iterdir())) == 1


def test_places_are_moved_by_the_first_op_that_has_them() -> None:
    artifact = replace(an_artifact(), places=("f.irc:1:1", "f.irc:1:2", "f.irc:1:2"))
    moved = artifact.at_places(("g.irc:4:1", "g.irc:4:2", "g.irc:5:2"))
    assert locations(moved) == ["g.irc:4:2"]
    assert moved.manifest["kernels"] == [{"name": "f_0", "location": "g.irc:4:2"}]
    assert artifact.at_places(artifact.places) is artifact


def test_the_disk_cache_reads_what_it_wrote_and_forgives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    key = cache.key_of("a", 1)
    assert key != cache.key_of("a", 2) != cache.key_of("a1")
    assert cache.read("kind", key) is None
    cache.write("kind", key, b"content")
    assert cache.read("kind", key) == b"content"
    assert [path.name for path in (tmp_path / "cache" / "kind").iterdir()] == [key]
    monkeypatch.setenv("IRC_CACHE_DIR", "/proc/none")
    cache.write("kind", key, b"content")
    assert cache.read("kind", key) is None
    monkeypatch.setenv("IRC_CACHE_DIR", "off")
    assert cache.cache_folder() is None


def test_the_disk_cache_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "MAX_BYTES", 2 * (32 + 10) + 5)
    for index in range(4):
        cache.write("kind", f"{index}", b"0123456789")
    kept = {path.name for path in (tmp_path / "kind").iterdir()}
    assert len(kept) == 2
    assert "3" in kept


def test_a_process_looks_through_its_cache_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it first writes, and behind each part of the most that there may be: others have written too."""
    looks: list[Path] = []
    prune = cache._prune  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "MAX_BYTES", cache.LOOKS * 100)
    monkeypatch.setattr(cache, "_prune", lambda folder: (looks.append(folder), prune(folder)))
    for index in range(21):
        cache.write("kind", f"{index}", b"0123456789")
    assert looks == [tmp_path / "kind"] * 3
    cache.write("other", "0", b"0123456789")
    assert looks[3:] == [tmp_path / "other"]


@pytest.mark.parametrize("strict", [False, True])
def test_strict_rounding_leaves_products_and_sums_apart(strict: bool) -> None:
    text = "func f(a: f32[8], b: f32[8], c: f32[8]) -> f32[8] {\n    return a * b + c\n}\n"
    (kernel,) = compile_artifact(text, arch="sm_90a", strict_rounding=strict).kernels
    assert ("fma.rn.f32" in kernel.ptx) is not strict
    assert ("mul.rn.f32" in kernel.ptx or "mul.f32" in kernel.ptx) is strict


def test_something_else_than_a_program_is_refused() -> None:
    with pytest.raises(IrcError, match="cannot compile a int"):
        irc.compile(5)  # pyright: ignore[reportArgumentType]


def test_where_arguments_begin_is_said_by_number() -> None:
    text = "func f(x: f32[64], y: f32[64]) -> f32[64] { return x + y }"
    exe = irc.compile(text, "sim", align={1: 4})
    assert [spec.align for spec in exe.arguments] == [16, 4]
    assert exe is not irc.compile(text, "sim")
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(exe(x, x), x + x)
    for align, message in (
        ({2: 4}, "cannot align argument 2 of 2"),
        ({0: 2}, "argument 0 begins at a multiple of 2 bytes: expected one of 4, 8, 16"),
        ({0: 3}, "argument 0 begins at a multiple of 3 bytes: expected one of 4, 8, 16"),
    ):
        with pytest.raises(IrcError, match=message):
            irc.compile(text, "sim", align=align)
    with pytest.raises(IrcError, match="argument 0 is donated, and begins at a multiple of 4 bytes"):
        irc.compile(text, "sim", align={0: 4}, donate=[0])
