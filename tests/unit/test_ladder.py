"""The ladder of products: its rungs are right at small sizes, and are made of what they say."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc_frontend as ir
from irc.codegen.sass import opcodes, uses
from irc.driver.compiler import compile_artifact
from irc.support.diagnostics import IrcError

FOLDER = Path(__file__).parents[2] / "examples" / "ladder"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def drawn(*shape: int) -> Any:
    values = np.random.default_rng(shape).standard_normal(shape, dtype=np.float32)
    return values.astype(ml_dtypes.bfloat16)


RUNGS = ("naive", "shared memory", "tensor cores", "warp groups", "A-stationary")


@long(3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("name", RUNGS)
def test_products_are_right(load: Any, name: str, target: str) -> None:
    products = load("rungs").PRODUCTS
    assert tuple(products) == RUNGS
    x, w = drawn(72, 80), drawn(80, 136)
    with ir.target(target):
        found = np.asarray(products[name](x, w)).astype(np.float32)
    expected = x.astype(np.float32) @ w.astype(np.float32)
    assert np.abs(found - expected).max() < 2e-2 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["unfused", "fused"])
def test_gates_are_right(load: Any, name: str) -> None:
    x, w, v = drawn(72, 80), drawn(80, 136), drawn(80, 136, 1)[:, :, 0]
    with ir.target("sim"):
        found = np.asarray(load("rungs").GATES[name](x, w, v)).astype(np.float32)
    h, g = (x.astype(np.float32) @ each.astype(np.float32) for each in (w, v))
    expected = g / (1 + np.exp(-h))
    assert np.abs(found - expected).max() < 2e-2 * np.abs(expected).max()


def test_a_product_that_adds_tiles_has_its_gradients(load: Any) -> None:
    stationary = load("rungs").stationary
    x, w, g = (np.random.default_rng(n).standard_normal((40, 40), dtype=np.float32) for n in range(3))

    def weighted(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
        return (stationary(x, w) * g).sum()

    with ir.target("cpu"):
        dx, dw = ir.grad(weighted, (0, 1))(x, w)
        assert np.abs(np.asarray(dx) - g @ w.T).max() < 1e-4
        assert np.abs(np.asarray(dw) - x.T @ g).max() < 1e-4


def test_tiles_of_several_iterations_that_are_added_have_no_gradient() -> None:
    @ir.kernel
    def total(x: Any):
        out = ir.empty(x.shape[1])
        for b, n in ir.tiles(range(x.shape[0]), x.shape[1]):
            ir.atomic_add(out, n, x[b, n])
        return out

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with ir.target("sim"):
        assert np.asarray(total(x)).tolist() == x.sum(0).tolist()
    with ir.target("cpu"), pytest.raises(IrcError, match="a sum of the tiles of several iterations has no meaning"):
        np.asarray(ir.grad(lambda x: total(x).sum())(x))


def test_rungs_are_made_of_what_they_say(load: Any) -> None:
    products = load("rungs").PRODUCTS
    x, w = drawn(512, 512), drawn(512, 512)
    kernels: dict[str, Any] = {}
    counts: dict[str, Counter[str]] = {}
    for name in RUNGS:
        artifact = compile_artifact(products[name].module(x, w), arch="sm_90a")
        (kernels[name],) = artifact.manifest["kernels"]
        counts[name] = opcodes(artifact.kernels[0].cubin)
    assert all(kernel["spills"] == 0 for kernel in kernels.values())
    assert kernels["naive"]["shared_memory"] == 0
    assert kernels["shared memory"]["shared_memory"] > 0
    assert not any(uses(counts[name], each) for name in RUNGS[:2] for each in ("HMMA", "HGMMA"))
    assert uses(counts["tensor cores"], "HMMA")
    assert uses(counts["warp groups"], "HGMMA")
    assert uses(counts["A-stationary"], "UTMAREDG")


@pytest.mark.parametrize("size", [2048, 16384])
def test_gates_of_large_matrices_fit(load: Any, size: int) -> None:
    """Both products' operands share what shared memory there is."""
    x = np.broadcast_to(np.zeros((), ml_dtypes.bfloat16), (size, size))
    for gate in (load("rungs").fused, load("rungs").matmul):
        module = gate.module(*[x] * (3 if gate.__name__ == "fused" else 2))
        (kernel,) = compile_artifact(module, arch="sm_90a").manifest["kernels"]
        assert kernel["spills"] == 0
        assert kernel["shared_memory"] > 128 << 10


def test_the_command_times_all_rungs(load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    record, picture = tmp_path / "ladder.json", tmp_path / "ladder.svg"
    sizes = ["--target", "cpu", "--sizes", "32", "64", "--json", str(record), "--plot", str(picture)]
    found = load("ladder").main(sizes)
    assert len(found) == 2 * (len(RUNGS) + 2)
    assert len(capsys.readouterr().out.splitlines()) == len(found)
    assert all(each.seconds > 0 and each.memory >= 2 * each.size**2 for each in found)
    assert json.loads(record.read_text())[0] == {**vars(found[0])}
    assert "<svg" in picture.read_text()


def test_a_tall_product(load: Any) -> None:
    found = load("ladder").main(["--target", "cpu", "--sizes", "8", "--tall"])
    assert [each.rung for each in found] == list(RUNGS)


def test_tiles_are_added_in_one_way_and_in_f32() -> None:
    @ir.kernel
    def both(x: Any):
        out = ir.empty(x.shape)
        for m in ir.tiles(x.shape[0]):
            ir.atomic_add(out, m, x[m])
            out[m] = x[m]
        return out

    @ir.kernel
    def narrow(x: Any):
        out = ir.empty(x.shape, "bf16")
        for m in ir.tiles(x.shape[0]):
            ir.atomic_add(out, m, x[m])
        return out

    x = np.ones(32, np.float32)
    with pytest.raises(IrcError, match="an array is written in one way"):
        both.module(x)
    with pytest.raises(IrcError, match="tiles are added to arrays of f32, found bf16"):
        narrow.module(x)
    with pytest.raises(IrcError, match="in a loop over tiles"):
        ir.atomic_add(ir.empty(4), 0, 1.0)
