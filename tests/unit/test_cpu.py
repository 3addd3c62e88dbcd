"""The target `cpu`: what is compiled, cached, threaded and left to the interpreter."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc
from irc.codegen.cpu import compiling
from irc.codegen.cpu.float_products import Vectors
from irc.codegen.cpu.printer import print_kernel
from irc.codegen.cpu.scalars import SCALARS
from irc.dialects.cpu import KernelOp
from irc.driver.cpu import pool_object
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc.looping.supported import SCALAR_OPS
from irc.runtime.threads import KERNEL, Pool
from irc.support.diagnostics import IrcError

SOFTMAX = "func f(x: f32[300, 200]) -> f32[300, 200] {\n    return softmax(x)\n}"


def test_the_printer_knows_what_loops_may_have() -> None:
    assert {op.name for op in SCALARS} | {"arith.constant", "scalar.check_index"} == SCALAR_OPS


def test_threads_compute_what_one_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    executable = irc.compile(SOFTMAX, target="cpu")
    several = executable(x)
    monkeypatch.setattr("irc.runtime.cpu.pool", lambda content: Pool(1, content))
    np.testing.assert_array_equal(executable(x), several)


def test_all_tiles_are_run_once() -> None:
    taken: list[int] = []
    lock = threading.Lock()

    def run(pointers: int, first: int, end: int, own: int) -> None:
        assert own % 64 == 0
        with lock:
            taken.extend(range(first, end))

    kernel, pool = KERNEL(run), Pool(4, pool_object())
    address = ctypes.cast(kernel, ctypes.c_void_p).value or 0
    for tiles in (1, 2, 3, 17, 1000):
        for pause in (0.0, 0.0, 0.002):  # threads look for work, or sleep
            taken.clear()
            pool.run(address, (ctypes.c_void_p * 1)(), 100, tiles)
            assert sorted(taken) == list(range(tiles))
            time.sleep(pause)


def test_threads_that_sleep_are_woken() -> None:
    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    executable = irc.compile(SOFTMAX, target="cpu")
    expected = executable(x)
    for number in range(600):
        np.testing.assert_array_equal(executable(x), expected)
        time.sleep((number % 7) * 3e-5)  # about as long as a thread looks for work


def test_calls_at_the_same_time() -> None:
    executable = irc.compile(SOFTMAX, target="cpu")
    arrays = [np.random.default_rng(n).standard_normal((300, 200)).astype(np.float32) for n in range(8)]
    expected = [executable(x) for x in arrays]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: executable(arrays[n])})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(8):
        np.testing.assert_array_equal(found[n], expected[n])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_runs_kernels() -> None:
    executable = irc.compile(SOFTMAX, target="cpu")
    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    expected = executable(x)
    if (child := os.fork()) == 0:
        os._exit(0 if np.array_equal(executable(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "text",
    [
        "x: f32[1, 1, 3, 3], w: f32[1, 1, 2, 2]) -> f32[1, 1, 4, 4] {\n    return conv(x, w, low=[1, 1], high=[1, 1], flipped=true)",
        "x: f32[5, 8], w: f32[8, 1]) -> f32[5, 1] {\n    return x @ flip(w, 0)",
        "x: f32[5, 8], w: f32[1, 1]) -> f32[5, 1] {\n    return x @ broadcast(w, [8, 1])",
        "x: f32[1, 8], w: f32[8, 5]) -> f32[1, 5] {\n    return flip(x, 1) @ w",
    ],
    ids=["flipped kernel", "flipped column", "one number", "flipped row"],
)
def test_a_vector_that_is_not_contiguous_in_a_product(text: str) -> None:
    """It is one column or one row wide, and its elements lie behind each other in no order that the product reads."""
    exe = irc.compile(f"func f({text}\n}}", "cpu")
    arrays = [np.random.default_rng(0).standard_normal(spec.shape).astype(np.float32) for spec in exe.arguments]
    expected = irc.compile(f"func f({text}\n}}", "interpret")(*arrays)
    np.testing.assert_allclose(exe(*arrays), expected, rtol=1e-5, atol=1e-5)


def test_machine_code_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    text = "func f(x: f32[12345]) -> f32[12345] {\n    return tanh(x) + 0.125\n}"
    irc.compile(text, target="cpu")
    monkeypatch.setattr(compiling, "_optimized", lambda module, machine: pytest.fail("compiled again"))
    other = text.replace("func f", "func f", 1) + "\n"
    x = np.ones(12345, np.float32)
    np.testing.assert_allclose(irc.compile(other, target="cpu")(x), np.tanh(x) + 0.125, rtol=1e-6)


def test_what_the_interpreter_runs_is_shown() -> None:
    text = "func f(x: f8e4m3[64], y: f32[64]) -> (f8e4m3[64], f32[64]) {\n    return x * 2.0, exp(y)\n}"
    executable = irc.compile(text, target="cpu")
    x, y = np.ones(64, ml_dtypes.float8_e4m3fn), np.zeros(64, np.float32)
    doubled, power = executable(x, y)
    np.testing.assert_array_equal(doubled.astype(np.float32), 2.0)
    np.testing.assert_array_equal(power, 1.0)
    names = [part.name for part in executable.profile(x, y, repetitions=1).parts]
    assert [name for name in names if "interpreted: no loops for values of f8E4M3FN" in name]
    assert [name for name in names if "interpreted" not in name]


WITHOUT_TILES = """
builtin.module attributes {irc.target = "cpu", irc.after = "split-reductions"} {
  func.func @f(%x: tensor<64x48xf32>, %w: tensor<48x80xf32>) -> tensor<64xf32> {
    %t = kernel.fused @sums matmul config<tile = {m = 16, n = 16, k = 16}> (%a = %x : tensor<64x48xf32>, %b = %w : tensor<48x80xf32>) -> tensor<64xf32> {
      %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x48xf32>, tensor<48x80xf32>) -> tensor<64x80xf32>
      %s = nd.sum %p {axes = [1]} : tensor<64x80xf32> -> tensor<64xf32>
      kernel.yield %s : tensor<64xf32>
    }
    %v = kernel.fused @powers map (%a = %t : tensor<64xf32>) -> tensor<64xf32> {
      %e = nd.exp %a : tensor<64xf32>
      kernel.yield %e : tensor<64xf32>
    }
    func.return %v : tensor<64xf32>
  }
}
"""


def test_a_kernel_without_tiles_is_interpreted() -> None:
    rng = np.random.default_rng(0)
    x, w = (0.1 * rng.standard_normal(shape).astype(np.float32) for shape in ((64, 48), (48, 80)))
    executable = irc.compile(parse(WITHOUT_TILES, "sums.mlir"), target="cpu")
    np.testing.assert_allclose(executable(x, w), np.exp((x @ w).sum(1)), rtol=1e-5)
    names = [part.name for part in executable.profile(x, w, repetitions=1).parts]
    assert names == ["sums, interpreted: no tiles: a reduction crosses the tiles of a kernel", "powers"]


def test_results_are_their_own() -> None:
    """A reshape is a view, and an argument that is returned is not the argument."""
    text = (
        "func f(x: f32[4, 6]) -> (f32[24], f32[4, 6], f32[24]) {\n    return reshape(x, [24]), x, reshape(x, [24])\n}"
    )
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    results = irc.compile(text, target="cpu")(x)
    for n, result in enumerate(results):
        np.testing.assert_array_equal(result.ravel(), x.ravel())
        assert not any(np.may_share_memory(result, other) for other in (x, *results[:n]))


def test_a_division_by_zero_is_no_trap() -> None:
    text = "func f(x: i32[4], y: i32[4]) -> i32[4] {\n    return x // y\n}"
    x = np.array([7, 8, -9, np.iinfo(np.int32).min], np.int32)
    found = irc.compile(text, target="cpu")(x, np.array([2, 0, 4, -1], np.int32))
    assert found[0] == 3 and found[2] == -3


def test_arguments_are_checked() -> None:
    with pytest.raises(IrcError, match="expected f32"):
        irc.compile(SOFTMAX, target="cpu")(np.zeros((300, 199), np.float32))


def test_the_first_of_equal_extremes() -> None:
    """Lanes of a combiner see elements in another order."""
    x = np.random.default_rng(0).integers(0, 3, (50, 333)).astype(np.float32)
    text = "func f(x: f32[50, 333]) -> (i64[50], i64[50]) {\n    return argmax(x, 1), argmin(x, 1)\n}"
    greatest, least = irc.compile(text, target="cpu")(x)
    np.testing.assert_array_equal(greatest, x.argmax(1))
    np.testing.assert_array_equal(least, x.argmin(1))


@pytest.mark.parametrize(
    ("shape", "axis"), [((12, 200), 1), ((200, 12), 0), ((7, 30, 40), 1), ((1000,), 0), ((9, 1), 0)]
)
def test_scans(shape: tuple[int, ...], axis: int) -> None:
    """Of rows side by side, and of columns."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    type = f"f32[{', '.join(map(str, shape))}]"
    found = irc.compile(f"func f(x: {type}) -> {type} {{\n    return cumsum(x, {axis})\n}}", target="cpu")(x)
    np.testing.assert_allclose(found, x.astype(np.float64).cumsum(axis), atol=1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(4096, 96), (3000, 1100), (70, 33)])
def test_sums_of_columns(rows: int, columns: int) -> None:
    """Parts of long columns are summed side by side."""
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    text = f"func f(x: f32[{rows}, {columns}]) -> f32[{columns}] {{\n    return sum(x, 0)\n}}"
    np.testing.assert_allclose(irc.compile(text, target="cpu")(x), x.astype(np.float64).sum(0), atol=1e-3)


def test_iterations_that_are_elements_of_vectors() -> None:
    """The 32 lanes of an argmax are two vectors of 16, its halves one of less."""
    module = parse("func f(x: f32[4, 128]) -> i64[4] {\n    return argmax(x, 1)\n}", "argmax.irc")
    (kernel,) = [op for op in lower(isolate(module), "cpu", arch="cpu").ops if isinstance(op, KernelOp)]
    text = print_kernel(kernel, vectors=Vectors(32, 2), has_pairs=False, functions={}).text
    found = re.findall(r'vectorize.width", i32 (\d+)}\n.*interleave.count", i32 (\d+)}', text)
    assert found == [("16", "2"), ("16", "2"), ("16", "1"), ("8", "1"), ("4", "1")]


@pytest.mark.parametrize("element", ["f32", "f64", "bf16", "i8"])
@pytest.mark.parametrize(("rows", "columns"), [(9, 512), (512, 9), (5, 6), (33, 47), (16, 40), (100, 3)])
def test_transposed_edges(element: str, rows: int, columns: int) -> None:
    """Blocks at the edges of a matrix have fewer rows and columns than vectors have elements."""
    x = np.arange(3 * rows * columns).reshape(3, rows, columns) % 113
    x = x.astype(irc.compile(f"func f(x: {element}[1]) -> {element}[1] {{\n    return x\n}}").arguments[0].dtype)
    text = (
        f"func f(x: {element}[3, {rows}, {columns}]) -> {element}[3, {columns}, {rows}] {{\n"
        "    return permute(x, [0, 2, 1])\n}"
    )
    np.testing.assert_array_equal(irc.compile(text, target="cpu")(x), x.transpose(0, 2, 1))


@pytest.mark.parametrize("channels", [3, 16, 40])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_of_torch(channels: int, stride: int) -> None:
    """Channels last in x, taps last in the kernel: products read a copy of the kernel in rows of channels."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 13, 11, channels)).astype(np.float32)
    w = rng.standard_normal((24, channels, 3, 3)).astype(np.float32)
    text = (
        f"func f(x: f32[2, 13, 11, {channels}], w: f32[24, {channels}, 3, 3]) -> f32[2, 24, {(12 // stride) + 1}, "
        f"{(10 // stride) + 1}] {{\n    return conv(permute(x, [0, 3, 1, 2]), w, strides=[{stride}, {stride}], low=[1, 1], high=[1, 1])\n}}"
    )
    found = irc.compile(text, target="cpu")(x, w)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::stride, ::stride]
    np.testing.assert_allclose(found, np.einsum("nhwcij,ocij->nohw", windows, w), atol=1e-3)


def test_long_sums() -> None:
    x = np.random.default_rng(0).random((3, 400_000)).astype(np.float32)
    found = irc.compile("func f(x: f32[3, 400000]) -> f32[3] {\n    return sum(x, 1)\n}", target="cpu")(x)
    np.testing.assert_allclose(found, x.astype(np.float64).sum(1), rtol=1e-6)
    rows = irc.compile("func f(x: f32[3, 400000]) -> f32[3, 400000] {\n    return softmax(x)\n}", target="cpu")(x)
    np.testing.assert_allclose(rows.astype(np.float64).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize("strict", [False, True])
def test_roundings_are_the_interpreters(strict: bool) -> None:
    text = (
        "func f(x: bf16[64, 100], y: bf16[64, 100], w: bf16[100, 32]) -> (bf16[64, 100], bf16[64, 32]) {\n"
        "    a = x * y + x\n    return a * y - x, a @ w\n}"
    )
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((64, 100), (64, 100), (100, 32))]
    found = irc.compile(text, target="cpu", strict_rounding=strict)(*arrays)
    expected = irc.compile(text, target="interpret", strict_rounding=strict)(*arrays)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1].astype(np.float32), expected[1].astype(np.float32), rtol=8e-3, atol=0.01)


@long(2)
@pytest.mark.parametrize("pairs", [True, False], ids=["pairs", "copies"])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (70, 40, 33), (7, 130, 257), (300, 600, 1100)])
def test_products_of_bf16(m: int, n: int, k: int, pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the operands lie and transposed, with rows, columns and pairs that are not whole; an infinity stays in its
    row."""
    if pairs and not compiling.has_pairs():
        pytest.skip("this CPU does not multiply pairs of bf16")
    monkeypatch.setattr("irc.driver.cpu.has_pairs", lambda: pairs)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    x[m // 2, k - 1] = np.inf
    expected = x.astype(np.float64) @ w.astype(np.float64)
    for left, right in itertools.product(("x", "transpose(x)"), ("w", "transpose(w)")):
        shapes = (
            f"bf16[{k if 't' in left else m}, {m if 't' in left else k}]",
            f"bf16[{n if 't' in right else k}, {k if 't' in right else n}]",
        )
        text = (
            f"# {pairs}\nfunc f(x: {shapes[0]}, w: {shapes[1]}) -> f32[{m}, {n}] {{\n"
            f"    return cast({left} @ {right}, f32)\n}}"
        )
        given = x.T if "t" in left else x, w.T if "t" in right else w
        found = irc.compile(text, target="cpu")(*map(np.ascontiguousarray, given))
        rows = np.arange(m) != m // 2
        np.testing.assert_allclose(found[rows], expected[rows], rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(found[m // 2], expected[m // 2])


@long(6)
@pytest.mark.parametrize("vectors", [Vectors(64, 4), Vectors(32, 2), Vectors(16, 2)], ids=["512", "256", "128"])
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 128, 70), (6, 66, 64), (70, 80, 33), (9, 130, 1100), (300, 3, 65), (33, 1, 40)]
)
def test_products_of_floats(
    m: int, n: int, k: int, element: str, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the operands lie and transposed, with rows and columns that are not whole, for narrower vectors too; an
    infinity stays in its row."""
    if vectors.bytes > compiling.vectors().bytes:
        pytest.skip("this CPU has no such vectors")
    monkeypatch.setattr("irc.driver.cpu.vectors", lambda: vectors)
    rng, dtype = np.random.default_rng(0), {"f32": np.float32, "f64": np.float64}[element]
    x, w = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    x[m // 2, k - 1] = np.inf
    expected = x.astype(np.float64) @ w.astype(np.float64)
    for left, right in itertools.product((x, x.T), (w, w.T)):
        shapes = [f"{element}[{each.shape[0]}, {each.shape[1]}]" for each in (left, right)]
        sides = ("x" if left is x else "transpose(x)"), ("w" if right is w else "transpose(w)")
        text = (
            f"func f(x: {shapes[0]}, w: {shapes[1]}) -> {element}[{m}, {n}] {{\n    return {sides[0]} @ {sides[1]}\n}}"
        )
        found = irc.compile(text, target="cpu")(np.ascontiguousarray(left), np.ascontiguousarray(right))
        rows = np.arange(m) != m // 2
        np.testing.assert_allclose(found[rows], expected[rows], rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(found[m // 2], expected[m // 2])


CUT_ADDRESSES = """
import ctypes
import numpy
import irc

GIGABYTE, PAGE = 1 << 30, 4096
RESERVED, KEPT = 0x4022, 0x4032  # private, anonymous, no swap; KEPT is at the place that is given
program = "func f(x: f32[{0}, 40]) -> f32[{0}, 40] {{ return softmax(x) * 0.3 }}"
irc.compile(program.format(3), "cpu")(numpy.zeros((3, 40), numpy.float32))
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
HOLES = 200
begin = libc.mmap(None, 3 * GIGABYTE * HOLES, 0, RESERVED, -1, 0)
end = begin + 3 * GIGABYTE * HOLES
for i in range(HOLES):
    libc.munmap(begin + (3 * i + 1) * GIGABYTE, PAGE * (1 + i % 2))
with open("/proc/self/maps") as lines:
    taken = [[int(bound, 16) for bound in line.split()[0].split("-")] for line in lines if "[vsyscall]" not in line]
for (_, low), (high, _) in zip(taken, taken[1:]):
    if low >= end and high - low < 64 * GIGABYTE:
        libc.mmap(low, high - low, 0, KEPT, -1, 0)
for rows in range(4, 12):
    x = numpy.ones((rows, 40), numpy.float32)
    numpy.testing.assert_allclose(irc.compile(program.format(rows), "cpu")(x), x * 0.3 / 40, rtol=1e-5)
"""
"""Leaves holes of one and two pages, 3 GB apart, above all other free addresses, as a GPU's driver may."""


@pytest.mark.skipif(sys.platform != "linux", reason="reserves addresses as Linux does")
def test_kernels_load_where_free_addresses_lie_far_apart(tmp_path: Path) -> None:
    environment = os.environ | {"IRC_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CUT_ADDRESSES], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_large_scatter_adds_one_update_after_another() -> None:
    """10^11 comparisons would take minutes."""
    text = """func f(x: f32[1000000, 2], at: i64[100000], u: f32[100000, 2]) -> f32[1000000, 2] {
    return 2 * scatter_add(x, at, u + 1, axis=0)
}"""
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((1_000_000, 2)).astype(np.float32), rng.integers(0, 1000, 100_000)
    u = rng.standard_normal((100_000, 2)).astype(np.float32)
    wanted = x.astype(np.float64)
    np.add.at(wanted, at, u + 1)
    np.testing.assert_allclose(irc.compile(text, target="cpu")(x, at, u), 2 * wanted, rtol=1e-5, atol=1e-5)
