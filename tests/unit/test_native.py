"""Saved executables from C: what is computed on a CPU, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import long, seeds
from native_programs import CXX, PROGRAMS, ROOT, built, called, changed, loaded, needed, parts_of, runner, sealed

import irc
from irc.runtime.artifact import ArraySpec
from irc.support import llvm

pytestmark = needed

SMALL = "func f(x: f32[8, 4]) -> f32[8] {\n    return sum(exp(x), axis=1)\n}"
MLP = (ROOT / "examples" / "mlp.irc").read_text().replace("B = 256, D = 512, H = 4 * D", "B = 70, D = 96, H = 200")
SOFTMAX = "func f(x: f32[130, 515]) -> (f32[130, 515], f32[130]) {\n    return softmax(x), max(x, axis=1)\n}"
GPT = """\
dim T = 32, E = 64, H = 4, D = E // H, V = 96

func heads(x: f32[T, E]) -> f32[H, T, D] {
    return permute(reshape(x, [T, H, D]), [1, 0, 2])
}

func block(x: f32[T, E], qkv: f32[E, 3 * E], o: f32[E, E], up: f32[E, 4 * E], down: f32[4 * E, E]) -> f32[T, E] {
    q, k, v = split(layer_norm(x) @ qkv, 3, axis=1)
    a = attention(heads(q), heads(k), heads(v), causal=true)
    y = x + reshape(permute(a, [1, 0, 2]), [T, E]) @ o
    return y + gelu(layer_norm(y) @ up, approximate="tanh") @ down
}

func gpt(t: i32[T], words: f32[V, E], places: f32[T, E], qkv: f32[E, 3 * E], o: f32[E, E], up: f32[E, 4 * E], down: f32[4 * E, E]) -> (f32[T, V], i64[T]) {
    y = block(block(take(check_indices(t, 0, V), 0), qkv, o, up, down), qkv, o, up, down)
    logits = layer_norm(y) @ transpose(words)
    return logits, argmax(logits, axis=1)
}
""".replace("take(check_indices(t, 0, V), 0)", "take(words, check_indices(t, 0, V)) + places")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "small.irx"
    irc.compile(SMALL, "cpu").save(path)
    return path


def drawn(spec: ArraySpec, random: np.random.Generator) -> np.ndarray:
    if spec.element == "i32":
        return random.integers(0, 96, spec.shape).astype(np.int32)
    return (random.standard_normal(spec.shape) / 4).astype(spec.dtype)


@long(2)
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("text", [MLP, SOFTMAX, GPT], ids=["mlp", "softmax", "gpt"])
def test_c_computes_what_python_does(text: str, threads: str, tmp_path: Path) -> None:
    exe = irc.compile(text, "cpu")
    random = np.random.default_rng(0)
    given = {spec.name: drawn(spec, random) for spec in exe.arguments}
    weights = {name: array for name, array in given.items() if name in ("w1", "words", "up")}
    exe.save(tmp_path / "f.irx", weights)
    for name in given.keys() - weights.keys():
        given[name].tofile(tmp_path / f"{name}.bin")
    printed = called(runner(), tmp_path / "f.irx", tmp_path, 3, IRC_THREADS=threads)
    assert f"{exe.name} for cpu, loaded in" in printed
    results = exe(*given.values())
    for number, expected in enumerate(results if isinstance(results, tuple) else (results,)):
        found = (tmp_path / f"result{number}.bin").read_bytes()
        np.testing.assert_array_equal(np.frombuffer(found, expected.dtype), expected.reshape(-1))


def test_the_program_of_the_page(tmp_path: Path) -> None:
    code = re.search(r"^```c\n(.*?)^```$", (ROOT / "docs" / "executables.md").read_text(), re.M | re.S)
    assert code is not None
    (tmp_path / "main.c").write_text(code[1])
    path = tmp_path / "dense.irx"
    exe = irc.compile("func dense(x: f32[64, 32], w: f32[32, 16]) -> f32[64, 16] {\n    return x @ w\n}", "cpu")
    exe.save(path, {"w": np.ones((32, 16), np.float32)})
    program = built(tmp_path / "main.c")
    assert called(program, folder=tmp_path) == ""
    path.write_bytes(path.read_bytes()[:-1])
    assert called(program, folder=tmp_path, code=1).startswith("dense.irx is damaged: it is cut off")


def test_threads_share_an_executable(tmp_path: Path) -> None:
    irc.compile(
        "func f(x: f32[200, 300], w: f32[300, 64]) -> f32[200, 64] {\n    return softmax(relu(x @ w))\n}", "cpu"
    ).save(tmp_path / "f.irx")
    called(built(PROGRAMS / "threads.c"), tmp_path / "f.irx", IRC_THREADS="3")


@pytest.mark.skipif(CXX is None, reason="no C++ compiler")
def test_the_header_in_cpp(small: Path) -> None:
    called(built(PROGRAMS / "header.cpp"), small)


def test_calls_that_do_not_fit(small: Path) -> None:
    lines = called(built(PROGRAMS / "calls.c"), small).splitlines()
    assert [line[2:] if line[0] == "3" else line for line in lines] == [
        "f has 1 arguments, found 0",
        "f has 1 results, found 2",
        "argument x of f: expected f32[8, 4], found f32[4, 8]",
        "argument x of f: expected f32[8, 4], found f32[8]",
        "argument x of f: expected f32[8, 4], found f32[]",
        "argument x of f: expected f32[8, 4], found ?[8, 4]",
        "argument x of f has no data",
        lines[7][2:],
        "result 0 of f: expected f32[8], found f64[8]",
        "result 0 of f shares memory with argument x",
        "f is for cpu, which has no streams: give NULL",
        "0 ",
    ]
    assert "argument x of f: expected an address that is a multiple of 4, found 0x" in lines[7]


def test_an_index_out_of_range(tmp_path: Path) -> None:
    exe = irc.compile("func f(x: f32[8], i: i32[4]) -> f32[4] {\n    return take(x, check_indices(i, 0, 8))\n}", "cpu")
    exe.save(tmp_path / "f.irx")
    np.array([1, 2, 8, 3], np.int32).tofile(tmp_path / "i.bin")
    printed = called(runner(), tmp_path / "f.irx", tmp_path, code=1)
    with pytest.raises(irc.IrcError) as caught:
        exe(np.ones(8, np.float32), np.array([1, 2, 8, 3], np.int32))
    assert f": {caught.value.message}\n" in printed
    assert "error: <string>:2:" in printed


def test_no_bit_may_flip_and_nothing_be_missing(small: Path, tmp_path: Path) -> None:
    content, paths = small.read_bytes(), list[Path]()
    for position in range(0, len(content), 13):
        paths.append(tmp_path / f"{position}.irx")
        paths[-1].write_bytes(content[:position] + bytes([content[position] ^ 16]) + content[position + 1 :])
    for size in [*range(0, len(content), 97), len(content) - 1]:
        paths.append(tmp_path / f"short{size}.irx")
        paths[-1].write_bytes(content[:size])
    paths.append(tmp_path / "long.irx")
    paths[-1].write_bytes(content + b"more")
    for line, path in zip(loaded(*paths), paths, strict=True):
        assert line.startswith((f"1 {path} is damaged: ", f"1 {path} is no saved executable: ")), line


def test_a_document_that_is_none_is_an_error(small: Path, tmp_path: Path) -> None:
    """Files whose sums are right, and whose documents and object files are damaged: read, and never run."""
    document, data = parts_of(small)
    paths = list[Path]()
    for seed in seeds(120):
        random = np.random.default_rng(seed)
        parts = [bytearray(document), bytearray(data)]
        for _ in range(int(random.integers(1, 4))):
            part = parts[int(random.integers(0, 2))]
            part[int(random.integers(0, len(part)))] = int(random.integers(0, 256))
        paths.append(tmp_path / f"{seed}.irx")
        paths[-1].write_bytes(sealed(bytes(parts[0]), bytes(parts[1])))
    lines = loaded(*paths)
    assert len(lines) >= len(paths)  # a name in a message may have lines
    assert sum(not line.startswith("0") for line in lines) > len(paths) // 8


def test_files_for_something_else(small: Path, tmp_path: Path) -> None:
    def for_other_cpu(tree: dict[str, Any]) -> None:
        tree["plan"]["host"][1:] = ["lesser", f"+sse,-xyz,{llvm.host()[2].replace('-', '+')}"]

    def interpreted(tree: dict[str, Any]) -> None:
        tree["plan"]["steps"][0]["does"] = "interpret"

    def sized(tree: dict[str, Any]) -> None:
        tree["arguments"][0]["extents"] = ["N", "4"]

    newer, text, folder = (tmp_path / name for name in ("newer.irx", "text.irx", "folder.irx"))
    newer.write_bytes(sealed(*parts_of(small), format=99))
    text.write_text("func")
    folder.mkdir()
    files = [
        changed(small, "cpu.irx", for_other_cpu),
        changed(small, "step.irx", interpreted),
        changed(small, "sized.irx", sized),
        changed(small, "target.irx", lambda tree: tree.update(target="npu")),
    ]
    first, *others = loaded(*files, newer, text, folder, tmp_path / "absent.irx")
    assert first.startswith("2 it is for another CPU (lesser): this one lacks ")
    assert others == [
        "1 f_0 at <string>:2:16 has no machine code, and Python alone interprets it: irc.load runs it",
        "1 extents of x are known when it is called, which Python alone runs: compile one size",
        "1 it is for the target npu, which this loader does not know",
        f"1 {newer} is of format 99, which irc 9.9 wrote; this loader reads format 2",
        f"1 {text} is no saved executable: Executable.save and irc-compile -o FILE.irx write them",
        f"1 cannot read {folder}: Invalid argument",
        f"1 cannot read {tmp_path}/absent.irx: No such file or directory",
    ]
