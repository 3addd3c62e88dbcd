"""Kernels written in Python, jit and torch.compile, tuned: on the target cpu, which needs no GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from faulty_cpu_bench import DIES, EATS, LIES
from python_kernels import product

import irc_frontend as ir
from irc.configs.alone import config_text, parse_config
from irc.dialects.tile import ProgramOp
from irc.ir.targets import target
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.tuning.bench import CRASHED, MEMORY, STOPPED, TIMED, WRONG, NotTimed
from irc.tuning.workers import Setup
from irc_frontend.kernels.kernel import Kernel
from irc_frontend.kernels.loops import Recording
from irc_frontend.kernels.space import ListSpace, NestSpace

RNG = np.random.default_rng(0)
X = RNG.standard_normal((96, 64), np.float32)
W = RNG.standard_normal((64, 80), np.float32)
SECONDS = 0.3


@pytest.fixture(autouse=True)
def own_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("IRC_TUNED", raising=False)


def rows(x: Any) -> Any:
    out = ir.empty(x.shape, x.dtype)
    for m in ir.tiles(x.shape[0]):
        out[m, :] = ir.softmax(x[m, :], axis=1)
    return out


def nests(kernel: Kernel, *arrays: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the tracer knows of the kernel's loops."""
    found: list[Recording] = []
    make = Recording.__init__

    def noted(self: Recording, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        found.append(self)

    monkeypatch.setattr(Recording, "__init__", noted)
    kernel.module(*arrays)
    return found[0].facts


def test_a_kernel_is_tuned_once(capfd: pytest.CaptureFixture[str]) -> None:
    kernel = ir.kernel(autotune=SECONDS)(product)
    with ir.target("cpu"):
        np.testing.assert_allclose(kernel(X, W), X @ W, rtol=1e-4, atol=1e-4)
        assert "product: the heuristic's takes" in capfd.readouterr().err
        (kept,) = tuned.tuned_configs("cpu")
        again = ir.kernel(autotune=SECONDS)(product)
        config: Any = program_config(again, X, W)
    assert capfd.readouterr().err == ""
    found = parse_config(kept.config)
    assert (config.tile, config.warps) == (found.tile, found.warps)


def program_config(kernel: Kernel, *arrays: Any) -> Any:
    return next(op.config for op in kernel.module(*arrays).walk() if isinstance(op, ProgramOp))


def test_calls_take_what_was_found_before() -> None:
    """Those of the same kernel and kind of arguments, also without autotune."""
    with ir.target("cpu"):
        ir.kernel(autotune=SECONDS)(product)(X, W)
        (kept,) = tuned.tuned_configs("cpu")
        other = "tile = {m = 32, n = 16, k = 64}, warps = 4"
        tuned.keep([tuned.TunedConfig(kept.kernel, kept.shapes, "cpu", "product", other, 1.0, 2.0)])
        config = program_config(ir.kernel(product), X, W)
        assert (dict(config.tile), config.warps) == ({"m": 32, "n": 16, "k": 64}, 4)
        np.testing.assert_allclose(ir.kernel(product)(X, W), X @ W, rtol=1e-4, atol=1e-4)
        assert dict(program_config(ir.kernel(product), X[:48], W).tile) != dict(config.tile)
        tuned.keep([tuned.TunedConfig(kept.kernel, kept.shapes, "cpu", "product", "tile = {q = 8}", 1.0, 2.0)])
        assert program_config(ir.kernel(product), X, W).tile["k"], "one that does not apply is not taken"


def test_what_a_config_sets_stays() -> None:
    kernel = ir.kernel(config={"tile": {"m": 32}}, autotune=SECONDS)(product)
    with ir.target("cpu"):
        kernel(X, W)
    (kept,) = tuned.tuned_configs("cpu")
    assert {parse_config(row.measurement.config).tile["m"] for row in tuned.dataset()} == {32}  # pyright: ignore[reportOptionalSubscript]
    assert "m = 32" in kept.config


def test_the_fastest_of_several_configs_is_kept() -> None:
    given = [{"tile": {"m": 16, "n": 16}}, {"tile": {"m": 96, "n": 80}}]
    with ir.target("cpu"):
        kernel = ir.kernel(configs=given)(product)
        np.testing.assert_allclose(kernel(X, W), X @ W, rtol=1e-4, atol=1e-4)
        (kept,) = tuned.tuned_configs("cpu")
        assert kept.config in {config_text(parse_config("tile = {m = 16, n = 16}")), "tile = {m = 96, n = 80}"}
        rows_before = len(tuned.dataset())
        ir.kernel(configs=given)(product)(X, W)
    assert len(tuned.dataset()) == rows_before, "nothing is timed twice"


@pytest.fixture
def faulty_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(
        "irc.driver.tuning.Setup", lambda bench, **options: Setup("faulty_cpu_bench:FaultyCpuBench", **options)
    )


@pytest.mark.usefixtures("faulty_bench")
def test_configs_that_go_wrong_are_passed_over(capfd: pytest.CaptureFixture[str]) -> None:
    """Also the first one, which the others would be compared with."""

    @ir.kernel(configs=[{"tile": {"m": m, "n": 64}} for m in (DIES, 96, LIES, EATS, 48)])
    def exponents(x: Any) -> Any:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = ir.exp(x[m, n])
        return out

    with ir.target("cpu"):
        np.testing.assert_allclose(exponents(X), np.exp(X), rtol=1e-6)
        said = capfd.readouterr().err
        np.testing.assert_allclose(exponents(X), np.exp(X), rtol=1e-6)
    rows = [row.measurement for row in tuned.dataset()]
    outcomes = {parse_config(row.config).tile["m"]: row.outcome for row in rows}  # pyright: ignore[reportOptionalSubscript]
    assert outcomes == {DIES: CRASHED, 96: TIMED, LIES: WRONG, EATS: MEMORY, 48: outcomes[48]}
    assert outcomes[48] in (TIMED, STOPPED)
    assert "exponents: skipped wrong: result 0 is not the heuristic's" in said
    assert "exponents: skipped memory: out of memory" in said
    (kept,) = tuned.tuned_configs("cpu")
    assert parse_config(kept.config).tile["m"] in (96, 48)  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.usefixtures("faulty_bench")
def test_all_configs_go_wrong() -> None:
    message = "none of the configs of rows can be taken: .* own config crashed: the process ended by SIGABRT"
    with ir.target("cpu"), pytest.raises(IrcError, match=message):
        ir.kernel(configs=[{"tile": {"m": m}} for m in (DIES, EATS)])(rows)(X)


def test_without_a_target_that_is_timed_there_is_a_warning() -> None:
    kernel = ir.kernel(autotune=True)(rows)
    with ir.target("interpret"), pytest.warns(NotTimed, match="rows: no GPU is here, and the target is not cpu"):
        kernel(X)
    assert tuned.tuned_configs() == []


def test_seconds_are_positive() -> None:
    with ir.target("cpu"), pytest.raises(IrcError, match="the seconds for each kernel, found -2"):
        ir.kernel(autotune=-2)(rows)(X)


@pytest.mark.parametrize("arch", ["sm_90a", "cpu"])
def test_spaces_of_nests(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half = np.zeros((256, 256), np.float16)
    for function, arrays in ((product, (half, half)), (product, (X, W)), (rows, (X,))):
        facts = nests(ir.kernel(function), *arrays, monkeypatch=monkeypatch)
        space = NestSpace(facts, parse_config("warps = 4"), target(arch))
        neighbors = space.neighbors(space.seeds[0])
        assert neighbors
        for config in (*space.seeds, *neighbors):
            assert config.warps == 4
            assert 0 < space.estimate(config) < 1
            assert parse_config(config_text(config)) == config


def test_a_list_is_a_space_without_axes() -> None:
    configs = [parse_config("warps = 8"), parse_config("warps = 4"), parse_config("warps = 8")]
    space = ListSpace(configs)
    assert space.seeds == configs[:2]
    assert space.neighbors(configs[0]) == []
    assert space.ranked(configs[1::-1]) == configs[:2]


def test_jit_tunes_the_kernels_of_its_program() -> None:
    @ir.jit(autotune=SECONDS)
    def f(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
        return ir.softmax(ir.relu(x @ w), axis=-1)

    with ir.target("cpu"):
        y = f(X, W).numpy()
    with ir.target("cpu"):
        expected = ir.softmax(ir.relu(ir.Tensor(X) @ ir.Tensor(W)), axis=-1).numpy()
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    assert len(tuned.tuned_configs("cpu")) == 1


def test_torch_compile_tunes_the_kernels_of_a_model() -> None:
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU())
    x = torch.from_numpy(X)
    options: Any = {"autotune": SECONDS}
    with ir.target("cpu"), torch.no_grad():
        y = torch.compile(model, backend="irc", options=options)(x)
    torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-4)
    assert len(tuned.tuned_configs("cpu")) == 1


@pytest.mark.parametrize("autotune", [-1, "always"])
def test_options_that_are_no_times(autotune: Any) -> None:
    torch._dynamo.reset()
    with pytest.raises(Exception, match="autotune: expected True, or the seconds for each kernel"):
        torch.compile(torch.nn.ReLU(), backend="irc", options={"autotune": autotune})(torch.zeros(2))
