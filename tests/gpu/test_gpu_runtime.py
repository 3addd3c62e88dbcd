"""The cuda runtime on a GPU: DLPack with torch and cupy, streams, repeated and concurrent calls, errors."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc
from irc.ir import philox
from irc.runtime.driver import device, is_present
from irc.support.diagnostics import IrcError

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

AXPY = """
dim N = 1000
func axpy(x: f32[N], y: f32[N]) -> f32[N] {
    return 2 * x + y
}
"""

CHAIN = """
dim M = 96, N = 160
func chain(x: bf16[M, N], w: bf16[N, N]) -> (bf16[M, N], f32[M], bf16[N, M]) {
    a = relu(x @ w)
    b = x @ transpose(w)
    c = softmax(a + b)
    return c, sum(cast(c, f32), axis=1), transpose(a - b)
}
"""


def chain_reference(x: Any, w: Any) -> list[Any]:
    a, b = np.maximum(x @ w, 0), x @ w.T
    e = np.exp(a + b - (a + b).max(1, keepdims=True))
    return [e / e.sum(1, keepdims=True), np.ones(len(x)), (a - b).T]


def test_numpy_in_numpy_out() -> None:
    exe = irc.compile(AXPY, "cuda")
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    for _ in range(3):
        result = exe(x, y)
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, 2 * x + y)
    assert exe.kernels[0]["registers"] > 0


def test_several_results_and_kernels() -> None:
    exe = irc.compile(CHAIN, "cuda")
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((96, 160), (160, 160)))
    for found, wanted in zip(exe(x, w), chain_reference(x.astype(np.float64), w.astype(np.float64)), strict=True):
        np.testing.assert_allclose(found.astype(np.float64), wanted, atol=3e-2 * np.abs(wanted).max())


def test_torch_in_torch_out_on_its_current_stream() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(AXPY, "cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = y = torch.randn(1000, device="cuda")
        for _ in range(10):
            y = exe(x, x.sin())
            x = y / 3
        wanted = x * 3
    stream.synchronize()
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, wanted)


def test_torch_of_every_element_type() -> None:
    torch = pytest.importorskip("torch")
    for name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"):
        exe = irc.compile(f"func f(x: {name}[33]) -> {name}[33] {{\n return x + x\n}}", "cuda")
        dtype = getattr(torch, exe.arguments[0].dtype.name)
        x = torch.arange(33, device="cuda").to(dtype)
        torch.testing.assert_close(exe(x), x + x)


def test_a_given_stream_is_used() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(AXPY, "cuda")
    x = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for form in (stream, stream.cuda_stream):
        y = exe(x, x, stream=form)
        stream.synchronize()
        torch.testing.assert_close(y, x * 3)


def test_many_streams_of_callers() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(AXPY, "cuda")
    x = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    streams = [device().take_stream() for _ in range(100)]
    results = [exe(x, x, stream=stream) for stream in streams]
    torch.cuda.synchronize()
    assert all(bool((result == 3).all()) for result in results)


def test_tensor_maps_follow_their_arrays() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile("func f(x: bf16[256, 128], w: bf16[128, 256]) -> bf16[256, 256] {\n return x @ w\n}", "cuda")
    arrays = [[torch.randn(s, device="cuda").bfloat16() for s in ((256, 128), (128, 256))] for _ in range(20)]
    for x, w in [*arrays, *arrays[:3]]:
        torch.testing.assert_close(exe(x, w).float(), x.float() @ w.float(), rtol=2e-2, atol=2e-2)


def test_every_launch_is_waited_for_where_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_SYNC", "1")
    exe = irc.compile("func f(x: f32[7]) -> f32[7] {\n return x * 5\n}", "cuda")
    np.testing.assert_array_equal(exe(np.ones(7, np.float32)), np.full(7, 5, np.float32))


def test_kernels_are_timed() -> None:

    exe = irc.compile(CHAIN, "cuda")
    arrays = [np.ones(spec.shape, spec.dtype) for spec in exe.arguments]
    times = exe.kernel_times(*arrays)
    assert set(times) == {kernel["name"] for kernel in exe.kernels}
    assert all(1e-7 < seconds < 1e-2 for seconds in times.values())


SIDE_BY_SIDE = """
func f(a: bf16[64, 256], b: bf16[64, 256], w: bf16[256, 256]) -> (bf16[64, 256], bf16[64, 256], bf16[64, 256]) {
    a1 = relu(a @ w)
    a2 = relu(a1 @ w)
    b1 = relu(b @ w)
    b2 = relu(b1 @ w)
    return a2, b2, a
}
"""


def side_by_side(torch: Any, seed: int) -> tuple[list[Any], list[Any]]:
    """Inputs of SIDE_BY_SIDE and its results by torch."""
    torch.manual_seed(seed)
    a, b, w = (torch.randn(s, device="cuda").bfloat16() for s in ((64, 256), (64, 256), (256, 256)))
    w *= 0.08
    return [a, b, w], [torch.relu(torch.relu(a @ w) @ w), torch.relu(torch.relu(b @ w) @ w), a.clone()]


def test_launches_of_one_kernel_side_by_side() -> None:
    """Through pointers, with arguments that are overwritten and one that is not."""
    torch = pytest.importorskip("torch")
    text = "func f(donate p: f32[500], donate q: f32[500], donate r: f32[500], g: f32[500]) -> "
    text += "(f32[500], f32[500], f32[500], f32[500]) {\n    return p * 0.5, q * 0.5, r * 0.5, g * 0.5\n}\n"
    exe = irc.compile(text, "cuda")
    assert [(kernel["launches"], kernel["sets"]) for kernel in exe.kernels] == [(1, 4)]
    arrays = [torch.randn(500, device="cuda") for _ in range(4)]
    wanted = [array * 0.5 for array in arrays]
    found = exe(*arrays)
    assert found[0].data_ptr() == arrays[0].data_ptr()
    for each, reference in zip(found, wanted, strict=True):
        assert torch.equal(each, reference)


def assert_near(found: Any, wanted: Any) -> None:
    for each, reference in zip(found, wanted, strict=True):
        assert float((each.float() - reference.float()).abs().max()) <= 0.05 * float(reference.float().abs().max())


@pytest.mark.parametrize("kind", ["bind", "graph"])
def test_bound_calls_and_graphs_follow_what_their_arrays_hold(kind: str) -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(SIDE_BY_SIDE, "cuda")
    assert exe.manifest["streams"] == 2  # the products of both chains in one launch; and the copy of an argument
    inputs, wanted = side_by_side(torch, 0)
    call = getattr(exe, kind)(*inputs)
    assert_near(call(), wanted)
    others, wanted = side_by_side(torch, 1)
    for array, other in zip(inputs, others, strict=True):
        array.copy_(other)
    assert_near(call(), wanted)


@pytest.mark.parametrize("nodes", [0, 100])
def test_graphs_take_other_arrays(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By copies, and by updates of nodes."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("irc.runtime.bound.UPDATED_NODES", nodes)
    exe = irc.compile(SIDE_BY_SIDE, "cuda")
    sets = [side_by_side(torch, seed) for seed in range(3)]
    graph = exe.graph(*sets[0][0])
    for inputs, wanted in [*sets, *sets]:
        assert_near(graph(*inputs), wanted)
    (a, b, _), _ = sets[1]
    w = sets[0][0][2]
    assert_near(graph(a, b, w), [torch.relu(torch.relu(x @ w) @ w) for x in (a, b)] + [a])


def test_calls_can_be_captured_by_torch() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(SIDE_BY_SIDE, "cuda")
    inputs, wanted = side_by_side(torch, 0)
    assert_near(exe(*inputs), wanted)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = exe(*inputs)
    graph.replay()
    assert_near(found, wanted)


def test_memory_does_not_grow_over_calls() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(SIDE_BY_SIDE, "cuda")
    inputs, _ = side_by_side(torch, 0)
    graph = exe.graph(*inputs)
    grown: list[int] = []
    for _ in range(3):
        before = used_memory(torch)
        for _ in range(1000):
            exe(*inputs)
            graph(*inputs)
        torch.cuda.synchronize()
        grown.append(used_memory(torch) - before)
    assert max(grown[1:]) <= 0


def used_memory(torch: Any) -> int:
    """Bytes that this process has taken from the runtime's pool and from torch's: other processes use the device too."""
    driver: Any = importlib.import_module("cuda.bindings.driver")
    pool = driver.CUmemoryPool(device()._pool_handle)
    status, used = driver.cuMemPoolGetAttribute(pool, driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    assert status == 0
    return int(used) + torch.cuda.memory_allocated()


def test_batches_are_copied_ahead_and_read_right() -> None:
    import irc_frontend as ir

    exe = irc.compile("func f(x: f32[512, 512]) -> f32[512] {\n return sum(x, axis=1)\n}", "cuda")
    batches = [np.full((512, 512), n, np.float32) for n in range(20)]
    with ir.target("cuda"):
        found = [np.asarray(exe(batch)) for batch in ir.data.prefetch(batches)]
    for number, result in enumerate(found):
        np.testing.assert_array_equal(result, np.full(512, 512 * number, np.float32))


def test_a_training_loop_traces_the_copies_of_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("sklearn", "rich", "threadpoolctl"):
        pytest.importorskip(module)
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    file = tmp_path / "trace.json"
    importlib.import_module("train_digits").main(["--target", "cuda", "--steps", "120", "--trace", str(file)])
    assert "trace: 50 copies of batches, " in capsys.readouterr().out
    events = json.loads(file.read_text())["traceEvents"]
    copies = {event["tid"] for event in events if event["name"] == "copy of a batch"}
    kernels = {event["tid"] for event in events if event.get("cat") == "kernel"}
    assert copies and kernels and copies.isdisjoint(kernels)


def test_views_that_are_not_contiguous_or_aligned_are_taken() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile("func f(x: f32[8, 16]) -> f32[8, 16] {\n return x * 2\n}", "cuda")
    base = torch.randn(16, 8, device="cuda")
    torch.testing.assert_close(exe(base.T), base.T * 2)
    flat = torch.randn(129, device="cuda")
    torch.testing.assert_close(exe(flat[1:].view(8, 16)), flat[1:].view(8, 16) * 2)


def test_arguments_that_begin_anywhere_are_read_in_place() -> None:
    torch = pytest.importorskip("torch")
    text = "func f(x: f16[64, 96], w: f16[96, 32]) -> f32[64, 32] {\n    return matmul(x, w, dtype=f32)\n}"
    exe = irc.compile(text, "cuda", align={0: 2})
    memory, w = (torch.randint(-3, 4, (size,), device="cuda").half() for size in (64 * 96 + 1, 96 * 32))
    x, w = memory[1:].view(64, 96), w.view(96, 32)
    torch.testing.assert_close(exe(x, w), x.float() @ w.float(), rtol=0, atol=0)
    bound = exe.bind(x, w)  # which takes arrays that need no copy alone
    torch.testing.assert_close(bound(), x.float() @ w.float(), rtol=0, atol=0)


def test_views_that_overlap_are_taken() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile("func f(x: f32[8, 16], y: f32[8, 16]) -> f32[16, 8] {\n return transpose(x * 2 + y)\n}", "cuda")
    flat = torch.randn(23, device="cuda")
    repeated, shifted = flat[:16].expand(8, 16), flat.as_strided((8, 16), (1, 1))
    torch.testing.assert_close(exe(repeated, shifted), (repeated * 2 + shifted).T)
    same = flat[:16].expand(8, 16).contiguous()
    torch.testing.assert_close(exe(same, same), (same * 3).T)


def test_views_of_other_libraries_have_to_be_row_major() -> None:
    cupy = pytest.importorskip("cupy")
    exe = irc.compile(AXPY, "cuda")
    x = cupy.arange(2000, dtype=cupy.float32)
    repeated = cupy.lib.stride_tricks.as_strided(x, (1000,), (0,))
    for view in (x[::2], repeated):
        with pytest.raises(IrcError, match=r"argument x: expected a row-major array, found strides"):
            exe(view, x[:1000])
    cupy.testing.assert_array_equal(exe(x[1:1001], x[1:1001]), 3 * x[1:1001])


def test_cupy_by_dlpack() -> None:
    cupy = pytest.importorskip("cupy")
    exe = irc.compile(AXPY, "cuda")
    x = cupy.arange(1000, dtype=cupy.float32)
    for _ in range(50):
        y = exe(x, x)
        assert isinstance(y, cupy.ndarray)
        cupy.testing.assert_array_equal(y, 3 * x)


def test_jax_by_dlpack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("jax has no GPU")
    exe = irc.compile(AXPY, "cuda")
    x = jax.numpy.arange(1000, dtype="float32")
    x.block_until_ready()
    y = exe(x, x)
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(np.asarray(y), 3 * np.asarray(x))


def test_wrong_device_arrays_are_one_clear_error() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile(AXPY, "cuda")
    x = torch.ones(1000, device="cuda")
    with pytest.raises(IrcError, match=r"argument y: expected f32\[1000\], found f16\[1000\]"):
        exe(x, x.half())
    with pytest.raises(IrcError, match=r"argument y: expected f32\[1000\], found f32\[999\]"):
        exe(x, x[1:])
    with pytest.raises(IrcError, match="argument y is on the host"):
        exe(x, np.ones(1000, np.float32))


def test_threads_share_an_executable() -> None:
    exe = irc.compile(CHAIN, "cuda")
    rng = np.random.default_rng(1)
    inputs = [[rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((96, 160), (160, 160))] for _ in range(4)]
    wanted = [[np.array(r) for r in exe(*arrays)] for arrays in inputs]
    failures: list[Any] = []

    def work(index: int) -> None:
        try:
            for _ in range(25):
                for found, expected in zip(exe(*inputs[index]), wanted[index], strict=True):
                    np.testing.assert_array_equal(found, expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_arrays_without_elements() -> None:
    exe = irc.compile("func f(x: f32[0, 4]) -> (f32[0, 4], f32[4]) {\n return x + 1, sum(x, axis=0)\n}", "cuda")
    empty, total = exe(np.zeros((0, 4), np.float32))
    assert empty.shape == (0, 4)
    np.testing.assert_array_equal(total, np.zeros(4, np.float32))


def test_arguments_that_are_returned_are_copied() -> None:
    torch = pytest.importorskip("torch")
    exe = irc.compile("func f(x: f32[8]) -> (f32[8], f32[8]) {\n return x, x\n}", "cuda")
    x = torch.ones(8, device="cuda")
    a, b = exe(x)
    x.zero_()
    assert a.data_ptr() != b.data_ptr()
    torch.testing.assert_close(a, torch.ones_like(x))
    torch.testing.assert_close(b, torch.ones_like(x))


def test_arrays_beyond_the_devices_memory_are_one_clear_error() -> None:
    exe = irc.compile("func f(x: f32[]) -> f32[400000, 400000] {\n return broadcast(x, [400000, 400000])\n}", "cuda")
    with pytest.raises(IrcError, match="not enough device memory: .* GiB are needed"):
        exe(np.ones((), np.float32))


def test_the_pool_is_sized_and_queried() -> None:
    """In a process of its own: a maximum is set before anything runs."""
    found = subprocess.run([sys.executable, "-c", SIZED_POOL], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "not enough memory in the pool: 0.25 GiB are needed" in found.stdout


SIZED_POOL = """
import irc
from irc.runtime.driver import device
MIB = 1 << 20
pool = irc.memory_pool(64 * MIB, 128 * MIB)
assert (pool.used, pool.maximum) == (0, 128 * MIB) and pool.reserved >= 64 * MIB, pool
on = device()
stream = on.take_stream()
memory = on.allocate(32 * MIB, stream)
assert pool.used >= 32 * MIB and 64 * MIB <= pool.reserved <= 128 * MIB, pool
try:
    on.allocate(256 * MIB, stream)
except irc.IrcError as error:
    print(error)
try:
    irc.memory_pool(maximum=256 * MIB)
except irc.IrcError as error:
    assert "in use, and its maximum is fixed" in str(error), error
memory.free(stream)
on.synchronize(stream)
# The driver gives back what is free before it refuses an allocation.
assert pool.used == 0 and 32 * MIB <= pool.reserved <= 128 * MIB and pool.most_used >= 64 * MIB, pool
pool.trim()
assert pool.reserved == 0, pool
"""


def test_frontend_tensors_on_the_gpu(tmp_path: Path) -> None:
    import irc_frontend as ir

    with ir.target("cuda"):
        x = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
        np.testing.assert_allclose(ir.softmax(ir.Tensor(x)).sum(1).numpy(), np.ones(64), rtol=1e-5)
        gathered = ir.take_along_axis(ir.Tensor(x), np.argsort(x, axis=1), 1)
        np.testing.assert_array_equal(gathered.numpy(), np.sort(x, axis=1))
        np.testing.assert_allclose(ir.einsum("ij,ij->i", x, x).numpy(), (x * x).sum(1), rtol=1e-5)
        drawn = ir.random_normal((50, 20), seed=3)
        np.testing.assert_allclose(drawn.numpy().ravel(), philox.normal(3, 1000, double=False), rtol=1e-4, atol=1e-5)
        torch = pytest.importorskip("torch")
        doubled = (ir.Tensor(torch.tensor(x, device="cuda")) * 2).value()
        assert isinstance(doubled, torch.Tensor)
        np.testing.assert_array_equal(doubled.cpu().numpy(), x * 2)
