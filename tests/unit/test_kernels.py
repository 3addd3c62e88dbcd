"""Kernels written in Python: what calls give, how configs are taken, and the errors of what cannot be traced."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import python_kernels
from example_kernels import kernels

import irc_frontend as ir
from irc.dialects import tile
from irc.ir.properties import values_of
from irc.support.diagnostics import IrcError, render
from irc.tuning.bench import NotTimed

Array = np.ndarray[Any, Any]


@ir.kernel
def scaled(x: ir.Tensor, factor: float = 2.0) -> ir.Tensor:
    out = ir.empty_like(x)
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] * factor
    return out


product = ir.kernel(python_kernels.product)


X = np.arange(30, dtype=np.float32).reshape(5, 6)
HALF = np.zeros((256, 256), np.float16)


def program_of(module: Any) -> tile.ProgramOp:
    return next(op for op in module.ops if isinstance(op, tile.ProgramOp))


# Calls


def test_arrays_give_arrays_and_tensors_give_tensors() -> None:
    with ir.target("cpu"):
        assert isinstance(scaled(X), np.ndarray)
        lazy = scaled(ir.Tensor(X))
        assert isinstance(lazy, ir.Tensor)
        assert not lazy.is_computed
        np.testing.assert_array_equal(ir.tanh(lazy + 1.0).numpy(), np.tanh(2 * X + 1))


def test_a_kernel_is_part_of_a_graph() -> None:
    """Ops before and behind it are kernels of their own, of the same program."""

    @ir.jit
    def step(x: ir.Tensor) -> ir.Tensor:
        return scaled(x + 1.0, 3.0).sum()

    with ir.target("sim"):
        assert float(step(X)) == (3 * (X + 1)).sum()


def test_tensors_of_torch_give_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    with ir.target("cpu"):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.arange(30, dtype=dtype).reshape(5, 6)
            found = scaled(x)
            assert found.dtype is dtype
            assert torch.equal(found, 2 * x)


def test_arrays_of_other_libraries_give_such_arrays() -> None:
    """Of those that have the array API, as jax's have."""

    class Other:
        def __init__(self, value: Array):
            self.value, self.dtype, self.shape = value, value.dtype, value.shape

        def __dlpack__(self, **options: Any) -> Any:
            return self.value.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.value.__dlpack_device__()

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
            return self.value

        def __array_namespace__(self) -> Any:
            return SimpleNamespace(asarray=Other)

    with ir.target("cpu"):
        found = scaled(Other(X))
    assert isinstance(found, Other)
    np.testing.assert_array_equal(found.value, 2 * X)


def test_another_constant_is_another_kind() -> None:
    with ir.target("cpu"):
        np.testing.assert_array_equal(scaled(X, 3.0), 3 * X)
        np.testing.assert_array_equal(scaled(X, factor=4.0), 4 * X)


def test_a_kernel_calls_kernels_and_functions() -> None:
    @ir.kernel
    def row_sum(x: ir.Tensor, m: Any) -> ir.Tensor:
        total = ir.zeros((m,))
        for n in ir.tiles(x.shape[1]):
            total += x[m, n].sum(axis=1)
        return total

    def half(t: ir.Tensor) -> ir.Tensor:
        return t * 0.5

    @ir.kernel
    def halves(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty(x.shape[0])
        for m in ir.tiles(x.shape[0]):
            out[m] = half(row_sum(x, m))
        return out

    with ir.target("cpu"):
        np.testing.assert_array_equal(halves(X), X.sum(1) / 2)


def test_host_code_and_plain_loops() -> None:
    """A range is unrolled, with break; what is before and behind loops over tiles is recorded as any graph is."""

    @ir.kernel
    def powers(x: ir.Tensor) -> ir.Tensor:
        y = x + 1.0
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            t = y[m, n]
            for power in range(10):
                if power == 2:
                    break
                t = t * y[m, n]
            out[m, n] = t
        return out.sum(axis=1)

    with ir.target("cpu"):
        np.testing.assert_allclose(powers(X), ((X + 1) ** 3).sum(1), rtol=1e-6)


def test_ops_have_the_lines_of_the_file() -> None:
    program = program_of(product.module(HALF, HALF))
    lines = {op.name: str(op.location) for op in program.walk()}
    first = product.function.__code__.co_firstlineno
    for name, line in (("tile.for_tiles", 3), ("scf.for", 5), ("nd.matmul", 6), ("tile.store", 7)):
        assert f'python_kernels.py":{first + line}:' in lines[name]


@ir.kernel
def heads(q: ir.Tensor, k: ir.Tensor) -> ir.Tensor:
    """Products of arrays that may be permuted: by tiles, by a number, with a new axis."""
    (B, M, D), N = q.shape, k.shape[2]
    out = ir.empty((B, M, N), "f32")
    for b, m, n in ir.tiles(range(B), M, N):
        out[b, m, n] = ir.matmul(q[b, m, 0:D], k[b, None, ..., n][0], dtype="f32")
    return out


def test_products_read_permuted_arrays_as_they_lie() -> None:
    """The memory of q has heads in the middle, that of k has the axes in reverse."""
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal(shape, np.float32).astype(np.float16) for shape in [(40, 2, 16), (48, 16, 2)])
    call = ir.jit(lambda q, k: heads(ir.permute(q, (1, 0, 2)), k.T))
    expected = np.einsum("mbd,ndb->bmn", q.astype(np.float32), k.astype(np.float32))
    for target in ("cpu", "sim"):
        with ir.target(target):
            np.testing.assert_allclose(call(q, k).numpy(), expected, atol=2e-2)
    gradients = ir.grad(lambda q, k: (heads(ir.permute(q, (1, 0, 2)), k.T) * expected).sum(), wrt=(0, 1))
    with ir.target("cpu"):
        found = [each.numpy() for each in gradients(q, k)]
    for gradient, wanted in zip(
        found,
        (
            np.einsum("bmn,ndb->mbd", expected, k.astype(np.float32)),
            np.einsum("bmn,mbd->ndb", expected, q.astype(np.float32)),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(gradient, wanted, rtol=5e-3, atol=0.5)
    module = product.module(ir.Tensor(HALF), ir.Tensor(HALF).T)
    loads = [op for op in program_of(module).walk() if op.name == "tile.load"]
    assert [op.view_type.get_shape() for op in loads] == [(256, 256)] * 2  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert any(op.name == "nd.permute" for op in program_of(module).walk())


def test_other_work_reads_a_copy() -> None:
    """Its threads would read memory far apart."""
    assert not any(op.name == "nd.permute" for op in program_of(scaled.module(ir.Tensor(X).T)).walk())
    with ir.target("sim"):
        np.testing.assert_array_equal(scaled(ir.Tensor(X).T).numpy(), 2 * X.T)


# Configs


def test_a_config_is_any_part() -> None:
    given = product.with_config(tile={"m": 128, "k": 32}, warps=8, stages=3)
    program = program_of(given.module(HALF, HALF))
    config: Any = program.config
    assert (config.tile["m"], config.tile["k"], config.warps, config.stages) == (128, 32, 8, 3)
    assert config.instruction == "wgmma"


@ir.kernel
def column_sums(x: ir.Tensor) -> ir.Tensor:
    B, M, N = x.shape
    out = ir.empty((B, N))
    for b, n in ir.tiles(range(B), N):
        acc = ir.zeros((n,))
        for m in ir.tiles(M):
            acc += x[b, m, n].sum(axis=0)
        out[b, n] = acc
    return out


@ir.kernel
def halves(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
    """Two products a step, whose left operands are computed, in one accumulator."""
    M, (N, G, _) = x.shape[0], w.shape
    out = ir.empty((M, N), x.dtype)
    for n, m in ir.tiles(N, M):
        acc = ir.zeros((n, m))
        for g in ir.tiles(range(G)):
            acc = ir.addmm(acc, (w[n, g, :] >> 4).astype(x.dtype), x[m, g, :].T)
            acc = ir.addmm(acc, (w[n, g, :] & 15).astype(x.dtype), x[m, g, :].T)
        out[m, n] = acc.T
    return out


def test_products_of_whole_steps_have_stages_and_blocks() -> None:
    """As many stages as there is room for, where no product needs what another gave; tiles small enough for all SMs,
    and large enough for none to have two: 128 blocks of 256 rows, and not 256 blocks. Few rows of a left operand that
    is computed, rather than few columns."""
    arrays = [(np.zeros((rows, 32, 64), np.float16), np.zeros((4096, 32, 64), np.int8)) for rows in (16, 256, 4096)]
    few, more, many = (config_of(halves, *each) for each in arrays)
    assert (few.tile["n"], few.tile["m"]) == (64, 16)
    assert (more.tile["n"], more.tile["m"]) == (64, 128)
    assert (many.tile["n"], many.tile["m"]) == (128, 128)
    assert few.stages > many.stages > 1


row_sums = ir.kernel(python_kernels.row_sums)


def test_blocks_whose_threads_meet_in_each_step_are_small() -> None:
    config = config_of(row_sums, np.zeros((512, 65536), np.float32))
    assert (config.tile["m"], config.tile["n"], config.warps) == (1, 4096, 4)
    assert config_of(scaled, np.zeros((512, 65536), np.float32)).warps == 16


def test_steps_that_are_reduced_twice_are_short() -> None:
    @ir.kernel
    def log_sums(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty(x.shape[0])
        for m in ir.tiles(range(x.shape[0])):
            top, total = ir.full((), -np.inf), ir.zeros(())
            for n in ir.tiles(x.shape[1]):
                new = ir.maximum(top, x[m, n].max())
                total = total * ir.exp(top - new) + ir.exp(x[m, n] - new).sum()
                top = new
            out[m] = ir.log(total) + top
        return out

    config = config_of(log_sums, np.zeros((512, 65536), np.float32))
    assert (config.tile["n"], config.warps) == (2048, 2)


@pytest.mark.parametrize(("dtype", "columns", "warps"), [(np.float16, 64, 8), (np.float32, 32, 16)])
def test_steps_of_loops_that_data_ends_are_few(dtype: type, columns: int, warps: int) -> None:
    """A line of memory wide, and of 32768 elements: a block of a long sequence has few of them one after the other."""
    first = np.zeros(256, np.int32)
    config = config_of(kernels.jagged_sums, np.zeros((131072, 1024), dtype), first, first, 131072)
    assert (config.tile["n"], config.tile["m"], config.warps) == (columns, 32768 // columns, warps)


def test_threads_have_two_vectors() -> None:
    """Of what a tile has most of: twice as many elements of 16 bits."""
    narrow, wide = (config_of(scaled, np.zeros((512, 65536), dtype)).warps for dtype in (np.float16, np.float32))
    assert (narrow, wide) == (8, 16)


@ir.kernel
def attended(q: ir.Tensor, k: ir.Tensor, causal: bool = True) -> ir.Tensor:
    (B, S, D), out = q.shape, ir.empty_like(q)
    for b, m in ir.tiles(range(B), S):
        acc = ir.zeros((m, D))
        for n in ir.tiles(S, end=m.end if causal else None):
            scores = ir.exp(ir.matmul(q[b, m, :], k[b, n, :].T, dtype="f32"))
            acc = ir.addmm(acc, scores.astype(k.dtype), k[b, n, :])
        out[b, m, :] = acc
    return out


@pytest.mark.parametrize(("rows", "group"), [(2048, 64), (16384, 8)])
def test_blocks_of_unequal_length_take_the_place_of_those_that_end(rows: int, group: int) -> None:
    """The longest of as many batches come first as share 16 MiB of what all blocks of a batch load."""
    x = np.zeros((16, rows, 64), np.float16)
    causal, full = config_of(attended, x, x), config_of(attended, x, x, False)
    assert (causal.schedule, causal.group, full.schedule, full.group) == ("grid", group, "persistent", None)


def config_of(kernel: Any, *arrays: Any) -> Any:
    return program_of(kernel.module(*arrays)).config


def test_numbers_of_a_range_are_blocks_too() -> None:
    """Where there are enough of them, tiles need not be small for each SM to have some."""
    few, many = (config_of(kernels.batched_matmul, *[np.zeros((n, 512, 512), np.float16)] * 2).tile for n in (1, 64))
    assert few["m"] * few["n"] <= 64 * 64
    assert many["m"] * many["n"] >= 128 * 128
    few, many = (config_of(column_sums, np.zeros((n, 64, 1024), np.float32)).tile for n in (1, 256))
    assert few["n"] < many["n"]


def loops_of(kernel: Any, *arrays: Any) -> tile.ForTilesOp:
    (loops,) = (op for op in program_of(kernel.module(*arrays)).walk() if isinstance(op, tile.ForTilesOp))
    return loops


def test_loops_are_in_the_order_of_the_config() -> None:
    """Blocks of a cluster have the rows and columns of tiles that they have in any order."""
    x = np.zeros((256, 64), np.float16)
    sizes = {"tile": {"m": 64, "n": 32}, "schedule": "persistent", "warps": 4, "cluster": (2, 1)}
    for order, extents, cluster in (((0, 1), (256, 512), (2, 1)), ((1, 0), (512, 256), (1, 2))):
        loops = loops_of(product.with_config(loop_order=order, **sizes), x, np.zeros((64, 512), np.float16))
        assert (loops.extent_values, values_of(loops.cluster)) == (extents, cluster)


def test_an_order_of_other_loops_than_there_are() -> None:
    with pytest.raises(IrcError, match="loop_order = .1, 0, 2. has 3 dimensions, and the loop over tiles has 2, m, n"):
        scaled.with_config(loop_order=(1, 0, 2))(X)
    moved = kernels.batched_matmul.with_config(
        loop_order=(2, 1, 0), cluster=(2, 1), tile={"m": 64}, schedule="persistent", warps=4
    )
    arrays = np.zeros((4, 128, 64), np.float16), np.zeros((4, 64, 128), np.float16)
    with pytest.raises(IrcError, match="moves loops whose tiles a cluster shares, found cluster = .2, 1."):
        moved.module(*arrays)


@pytest.mark.parametrize(
    "config",
    [
        {"tile": {"m": 64, "n": 64, "k": 32}, "instruction": "mma", "warps": 4},
        {"tile": {"m": 32, "n": 16}, "instruction": "fma", "warps": 2},
        {"indexing": "pointers"},
        {"tile": {"m": 128, "n": 64}, "schedule": "pingpong", "warps": 4},
        {"tile": {"m": 64, "n": 64}, "schedule": "dynamic", "warps": 4},
        {"tile": {"m": 8, "n": 8}, "instruction": "fma", "schedule": "dynamic", "warps": 1},
        {"tile": {"m": 64, "n": 32}, "schedule": "persistent", "warps": 4, "loop_order": (1, 0), "cluster": (2, 1)},
    ],
)
def test_configs_agree(config: dict[str, Any]) -> None:
    x = np.random.default_rng(0).standard_normal((128, 48), np.float32).astype(np.float16)
    with ir.target("sim"):
        found = product.with_config(**config)(x, x.T.copy())
    expected = x.astype(np.float32) @ x.T.astype(np.float32)
    assert np.abs(found - expected).max() < 4e-3 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tile": {"q": 64}}, "no loop over tiles has that name"),
        ({"color": 1}, "a config has no field color"),
        ({"warps": -1}, "warps must be a positive integer"),
        ({"warps": 3}, "4 warps execute a wgmma together"),
        ({"split": 2}, "split is for kernels that irc fuses"),
        (
            {"indexing": "pointers", "instruction": "wgmma"},
            'products of wgmma read by tma, found indexing = "pointers"',
        ),
        ({"indexing": "tma", "instruction": "mma"}, 'products of mma read by pointers, found indexing = "tma"'),
        ({"schedule": "dynamic", "cluster": (2, 1)}, "blocks that take tiles by themselves are in no cluster"),
        ({"tile": 64}, "tile must be positive integers by the names of dimensions"),
        ({"tile": {"m": 48}}, "multiple of 64 rows"),
    ],
)
def test_a_config_that_does_not_apply(config: dict[str, Any], message: str) -> None:
    with pytest.raises(IrcError, match=message) as caught, ir.target("sim"):
        product.with_config(**config)(HALF, HALF)
    place = "python_kernels.py" if config == {"tile": {"m": 48}} else "test_kernels.py"
    assert place in render(caught.value), (
        "a tile that no instruction has is an error of the product, others of the call"
    )


@pytest.mark.parametrize(("indexing", "instruction"), [("tma", "wgmma"), ("pointers", "mma")])
def test_indexing_chooses_the_instruction(indexing: str, instruction: str) -> None:
    with ir.target("sim"):
        module = product.with_config(indexing=indexing).module(HALF, HALF)
    assert f'instruction = "{instruction}"' in str(module)


def test_kernels_without_products_read_by_pointers() -> None:
    with pytest.raises(IrcError, match="kernels without products read by pointers"), ir.target("sim"):
        row_sums.with_config(indexing="tma")(HALF)


CONFIGS = [{"tile": {"m": 48}}, {"tile": {"m": 64, "n": 32}, "warps": 4}, {"tile": {"m": 128}, "warps": 8}]


def test_the_first_of_several_configs_that_compiles_is_taken_without_a_gpu() -> None:
    """The first one has no instructions for its rows, which is found when it compiles: on the simulator."""
    given = product.with_configs(CONFIGS)
    with ir.target("sim"):
        with pytest.warns(NotTimed, match="product: 3 configs are timed on a GPU.*tile = {m = 64, n = 32}, warps = 4"):
            config: Any = program_of(given.module(HALF, HALF)).config
        assert (config.tile["m"], config.tile["n"], config.warps, config.instruction) == (64, 32, 4, "wgmma")
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a kind of call is chosen for once
            np.testing.assert_array_equal(given(HALF, HALF), HALF)


def test_the_fastest_of_several_configs_is_taken_where_kernels_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one does not apply. The others are timed in processes of their own (test_tuning_kernels.py)."""
    asked: list[Any] = []

    def search_configs(name: str, key: Any, space: Any, traced: Any, where: str, settings: Any) -> Any:
        asked.extend([name, where, [each.tile["n"] for each in space.seeds]])
        return SimpleNamespace(config=space.seeds[1])

    monkeypatch.setattr("irc_frontend.kernels.configs.search_configs", search_configs)
    sizes = [{"tile": {"m": 64, "n": n}, "instruction": "wgmma", "warps": w} for n, w in ((8, 3), (128, 4), (16, 4))]
    with ir.target("cpu"):
        config: Any = program_of(product.with_configs(sizes).module(HALF, HALF)).config
    assert config.tile["n"] == 16
    assert asked == ["product", "cpu", [128, 16]]


def test_none_of_several_configs_compiles() -> None:
    message = "none of the configs of product can be taken: .*multiple of 64 rows"
    with pytest.raises(IrcError, match=message) as caught, ir.target("sim"):
        product.with_configs([{"tile": {"m": 48}}, {"tile": {"m": 80}}])(HALF, HALF)
    assert "python_kernels.py" in render(caught.value)


def test_a_kernel_has_a_config_or_several() -> None:
    with pytest.raises(IrcError, match="a config or several configs, found both"):
        ir.kernel(config={"warps": 4}, configs=[{"warps": 8}])
    with pytest.raises(IrcError, match="several configs or is tuned, found both"):
        ir.kernel(configs=[{"warps": 8}], autotune=True)
    with pytest.raises(IrcError, match="configs: expected one or more"):
        product.with_configs([])
    with pytest.raises(IrcError, match="warps must be a positive integer") as caught:
        ir.kernel(configs=[{"warps": 4}, {"warps": -1}])(product.function)
    assert "ir.kernel(configs" in render(caught.value)


def test_a_config_that_does_not_apply_is_quoted() -> None:
    """Also where what shows it is the call."""
    other = product.with_config(tile={"q": 64})  # here
    with pytest.raises(IrcError) as caught:
        other(HALF, HALF)
    assert "# here" in render(caught.value)
    turns = scaled.with_config(schedule="pingpong")  # here
    with pytest.raises(IrcError, match="schedule = pingpong is for kernels that multiply") as caught:
        turns(X)
    assert "# here" in render(caught.value)
    with pytest.raises(IrcError, match="stages is for kernels that multiply"):
        scaled.with_configs([{"warps": 2}, {"stages": 2}])(X)


# Errors


def _branch(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        t = x[m, n]
        if t.sum() > 0:  # here
            t = -t
        out[m, n] = t


def _numpy(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = np.cbrt(x[m, n])  # here


def _math(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] * math.sqrt(x[m, n].sum())  # here


def _axes(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] + x[m, :].sum(axis=1)  # here


def _break(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        for n in ir.tiles(x.shape[1]):
            out[m, n] = x[m, n]
            break  # here


def _number(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        total = 0.0
        for n in ir.tiles(x.shape[1]):  # here
            total = total + x[m, n].sum(axis=1)
        out[m, 0] = total


def _type(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        total = ir.zeros((m,), "f16")
        for n in ir.tiles(x.shape[1]):  # here
            total = x[m, n].sum(axis=1) + total.astype("f32")
        out[m, 0] = total


def _gone(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        for n in ir.tiles(x.shape[1]):
            t = x[m, n]
        out[m, 0] = t.sum(axis=1)  # here  # pyright: ignore[reportPossiblyUnboundVariable]


def _outer(x: ir.Tensor, out: ir.Tensor) -> None:
    total = ir.zeros((6,))
    for m in ir.tiles(x.shape[0]):  # here
        total = total + x[m, :].sum(axis=0)
        out[m, :] = x[m, :]
    out[0, :] = total


def _reads_written(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n]
        out[m, n] = out[m, n] + 1.0  # here


def _reads_unwritten(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] += x[m, n]  # here


def _shifts_a_tile(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m + 1, n]  # here


def _writes_argument(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        x[m, n] = x[m, n] + 1.0  # here


def _whole(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] + x.sum()  # here


def _extent(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[n, m]  # here


def _transposed(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n] + x[:, n].sum(axis=0)[:, None]  # here


def _mean(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        for n in ir.tiles(x.shape[1]):
            out[m, n] = x[m, n] - x[m, n].mean(axis=1)[:, None]  # here


def _softmax(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = ir.softmax(x[m, n], axis=1)  # here


def _names(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(*x.shape):  # here
        out[m, :] = x[m, :]


def _nothing(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):  # here
        x[m, n]


def _integers(x: ir.Tensor, out: ir.Tensor) -> None:
    for m, n in ir.tiles(*x.shape):
        out[m, n] = x[m, n].astype("i32")  # here


def _sorted(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        out[m, :] = ir.sort(x[m, :], axis=1)  # here


def _scatters(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        out[x[m, 0].astype("i32"), 0] = x[m, 0]  # here


def _gathers_by_floats(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(x.shape[0]):
        out[m, :] = x[x[m, 0], :]  # here


def _scatters_a_row(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(range(x.shape[0])):
        out[x[m, 0].astype("i32"), :] = x[m, :]  # here


def _is_at_a_float(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(range(x.shape[0])):
        out[m, :] = x[x[m, 0], :]  # here


def _is_at_a_computed_tile(x: ir.Tensor, out: ir.Tensor) -> None:
    for m in ir.tiles(range(x.shape[0])):
        out[m, :] = x[m.value + 1, :]  # here


def _ends_at_a_float(x: ir.Tensor, out: ir.Tensor) -> None:
    for b, m in ir.tiles(range(x.shape[0]), x.shape[1]):
        for _ in ir.tiles(x.shape[1], end=x[b, 0]):  # here
            out[b, m] = x[b, m]


def _ends_at_a_computed_tile(x: ir.Tensor, out: ir.Tensor) -> None:
    for b, m in ir.tiles(range(x.shape[0]), x.shape[1]):
        for _ in ir.tiles(x.shape[1], end=b.value + 1):  # here
            out[b, m] = x[b, m]


ERRORS: list[tuple[Callable[..., None], str]] = [
    (_branch, "a tile has no value while its kernel is traced"),
    (_numpy, "irc has no numpy.cbrt of Tensors"),
    (_math, "a tile has no value while its kernel is traced"),
    (_axes, "tiles of n meet tiles of m along one axis"),
    (_break, "break leaves a loop over tiles early"),
    (_number, "total is of type float before the loop"),
    (_type, "total is f16.* before the loop and f32.* after an iteration"),
    (_gone, "t is a value of one iteration"),
    (_outer, "total goes from tile to tile of the outermost loop"),
    (_reads_written, "an array is read that the same loop nest writes"),
    (_reads_unwritten, "an array that `empty` made is read before it is written"),
    (_shifts_a_tile, "unsupported operand type.* for .: 'LoopTile' and 'int'"),
    (_writes_argument, "a kernel writes arrays that `empty`"),
    (_whole, "computes with an array as a whole"),
    (_extent, "the tiles n are of 6 elements, and axis 0 of .* has 5"),
    (_transposed, "tiles of m meet tiles of n along one axis"),
    (_mean, "mean is over tiles the last of which goes beyond the end"),
    (_softmax, "softmax is along the tiles n"),
    (_names, "2 dimensions are given 1 names"),
    (_nothing, "writes no array"),
    (_integers, "an array of f32 is given a tile of i32"),
    (_scatters, "a tile is not stored at places that are computed"),
    (_gathers_by_floats, "an array is indexed by tiles of integers along one axis, found f32"),
    (_scatters_a_row, "a tile is not stored at places that are computed"),
    (_is_at_a_float, "an array is indexed by an element of an array of integers, found f32"),
    (_is_at_a_computed_tile, "an array is indexed by an element of an array of integers, found i32"),
    (_ends_at_a_float, "a loop over tiles ends at an element of an array of integers, found f32"),
    (_ends_at_a_computed_tile, "a loop over tiles ends at an element of an array of integers, found i32"),
    (_sorted, "nd.sort is not computed of tiles so far"),
]


@pytest.mark.parametrize(("body", "message"), ERRORS, ids=[body.__name__[1:] for body, _ in ERRORS])
def test_an_error_is_at_the_users_line(body: Callable[..., None], message: str) -> None:
    inner = ir.kernel(body)

    @ir.kernel
    def whole(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        inner._recorder.function(x, out)  # pyright: ignore[reportPrivateUsage]
        return out

    with pytest.raises(IrcError, match=message) as caught, ir.target("sim"):
        whole(X[:, :5] if body in (_axes, _transposed) else X)
    assert "# here" in render(caught.value).split("\n")[1]
    assert caught.value.hint is not None or body in (_nothing, _reads_written, _type, _sorted)


def test_tiles_are_for_kernels() -> None:
    with pytest.raises(IrcError, match="tiles are for the `for` statements of a kernel"):
        list(ir.tiles(4))
    with pytest.raises(IrcError, match="extents of tiles are integers or ranges, found str"):
        ir.tiles("4")  # pyright: ignore[reportArgumentType]


def test_an_array_that_nothing_writes() -> None:
    @ir.kernel
    def nothing(x: ir.Tensor) -> ir.Tensor:
        return ir.empty_like(x)

    with pytest.raises(IrcError, match="returns an array that no loop over tiles wrote"):
        nothing(X)


def test_a_call_that_is_not_as_the_function_is_defined() -> None:
    with pytest.raises(IrcError, match="product: missing a required argument: 'w'") as caught:
        product(X)
    assert caught.value.hint == "product(x, w)" and "product(X)" in render(caught.value)


def test_a_function_without_a_name_is_no_kernel() -> None:
    with pytest.raises(IrcError, match="a kernel is a function that `def` makes") as caught:
        ir.kernel(lambda x: x)
    assert "ir.kernel(lambda" in render(caught.value)


def test_a_kernel_returns_what_it_writes() -> None:
    @ir.kernel
    def forgets(x: ir.Tensor) -> None:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = x[m, n]

    with pytest.raises(IrcError, match="forgets returns no array"):
        forgets(X)


def test_a_tensor_is_not_written_elsewhere() -> None:
    with pytest.raises(IrcError, match="Tensors do not change"):
        ir.Tensor(X)[0] = 1.0


def test_a_range_is_walked_backwards() -> None:
    @ir.kernel
    def turned(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(range(x.shape[0]), x.shape[1]):
            out[m, n] = x[x.shape[0] - 1 - m, n]
        return out

    with ir.target("cpu"):
        np.testing.assert_array_equal(turned(X), X[::-1])
