"""Optimizers, clipping and schedules against float64 numpy, and against torch where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc_frontend import optim

RNG = np.random.default_rng(11)
STEPS = 6
PARAMS = {"w": RNG.standard_normal((3, 4)), "b": [RNG.standard_normal(4), RNG.standard_normal(())]}
GRADIENTS = [ir.tree_map(lambda p: RNG.standard_normal(p.shape), PARAMS) for _ in range(STEPS)]


pytestmark = pytest.mark.usefixtures("on_cpu")


def sgd(momentum: float = 0, nesterov: bool = False, decay: float = 0) -> Callable[..., Any]:
    def run(p: Any, gradients: Any, rates: Any) -> Any:
        m = np.zeros_like(p)
        for g, rate in zip(gradients, rates, strict=True):
            g = g + decay * p
            m = momentum * m + g
            p = p - rate * (g + momentum * m if nesterov else m)
        return p

    return run


def adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, decay: float = 0) -> Callable[..., Any]:
    def run(p: Any, gradients: Any, rates: Any) -> Any:
        m, v = np.zeros_like(p), np.zeros_like(p)
        for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            p = p * (1 - rate * decay)
            p = p - rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        return p

    return run


CASES: dict[str, tuple[optim.Optimizer, Callable[..., Any], str, dict[str, Any]]] = {
    "sgd": (optim.SGD(0.1), sgd(), "SGD", {"lr": 0.1}),
    "momentum": (optim.SGD(0.1, 0.9), sgd(0.9), "SGD", {"lr": 0.1, "momentum": 0.9}),
    "nesterov": (
        optim.SGD(0.1, 0.8, nesterov=True, decay=0.03),
        sgd(0.8, True, 0.03),
        "SGD",
        {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.03},
    ),
    "adam": (optim.Adam(0.1), adam(), "Adam", {"lr": 0.1}),
    "adam of other constants": (
        optim.Adam(0.1, 0.0, 0.9, 1e-3),
        adam(0.0, 0.9, 1e-3),
        "Adam",
        {"lr": 0.1, "betas": (0.0, 0.9), "eps": 1e-3},
    ),
    "adamw": (
        optim.AdamW(0.1, decay=0.2, decay_all=True),
        adam(decay=0.2),
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.2},
    ),
}


def trained(optimizer: optim.Optimizer, dtype: Any = np.float64) -> tuple[Any, Any]:
    """The parameters and the state after the steps, each of which is a call of one program."""
    update = ir.jit(optimizer.update)
    params = ir.tree_map(lambda p: np.asarray(p, dtype), PARAMS)
    state: Any = optimizer.init(params)
    for gradients in GRADIENTS:
        params, state = update(params, ir.tree_map(lambda g: np.asarray(g, dtype), gradients), state)
    return params, state


def by_numpy(run: Callable[..., Any], rates: Any) -> list[Any]:
    rows = zip(*map(ir.tree_leaves, (PARAMS, *GRADIENTS)), strict=True)
    return [run(p, gradients, rates) for p, *gradients in rows]


def check(found: Any, wanted: list[Any], **tolerances: Any) -> None:
    for a, b in zip(ir.tree_leaves(found), wanted, strict=True):
        np.testing.assert_allclose(a.astype("f64").numpy(), b, **tolerances)


@pytest.mark.parametrize("name", CASES)
def test_optimizers(name: str) -> None:
    optimizer, run, _, _ = CASES[name]
    params, state = trained(optimizer)
    assert state["step"].item() == STEPS
    assert params["b"][1].element == "f64"
    wanted = by_numpy(run, [float(np.float32(0.1))] * STEPS)
    check(params, wanted, rtol=1e-12, atol=1e-12)
    check(trained(optimizer, np.float32)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_optimizers_have_torchs_numbers(name: str) -> None:
    torch = pytest.importorskip("torch")
    optimizer, _, cls, options = CASES[name]
    leaves = [torch.tensor(np.asarray(p, np.float32), requires_grad=True) for p in ir.tree_leaves(PARAMS)]
    theirs = getattr(torch.optim, cls)(leaves, **options)
    for gradients in GRADIENTS:
        for leaf, gradient in zip(leaves, ir.tree_leaves(gradients), strict=True):
            leaf.grad = torch.tensor(np.asarray(gradient, np.float32))
        theirs.step()
    wanted = [leaf.detach().numpy() for leaf in leaves]
    check(trained(optimizer, np.float32)[0], wanted, rtol=1e-4, atol=1e-5)


def test_decay_spares_vectors() -> None:
    params, _ = trained(optim.AdamW(0.1, decay=0.2))
    rates = [float(np.float32(0.1))] * STEPS
    matrix, *others = by_numpy(adam(), rates)
    check([params["b"]], others, rtol=1e-12)
    assert abs(params["w"].numpy() - matrix).max() > 0.01
    check([params["w"]], by_numpy(adam(decay=0.2), rates)[:1], rtol=1e-12)


def test_narrow_parameters_are_rounded_once() -> None:
    """bf16 parameters move by the f32 step; the state stays f32."""
    optimizer = optim.SGD(1.0, momentum=0.9)
    params = {"w": ir.Tensor(np.full(3, 1.0), "bf16")}
    state = optimizer.init(params)
    gradient = {"w": ir.Tensor(np.full(3, 2.0**-8 * 1.25), "bf16")}
    params, state = optimizer.update(params, gradient, state)
    assert (params["w"].element, state["momentum"]["w"].element) == ("bf16", "f32")
    np.testing.assert_array_equal(params["w"].astype("f32").numpy(), np.float32(1 - 2.0**-8))
    np.testing.assert_array_equal(state["momentum"]["w"].numpy(), np.float32(2.0**-8 * 1.25))


def test_schedules() -> None:
    steps = range(14)

    def rates(schedule: optim.Schedule) -> list[float]:
        return [schedule(ir.Tensor(np.float32(step))).item() for step in steps]

    cosine = [0.02 + 0.08 * (1 + np.cos(np.pi * min(step / 10, 1))) / 2 for step in steps]
    np.testing.assert_allclose(rates(optim.cosine(0.1, 10, 0.02)), cosine, rtol=1e-5)
    ramp = [min((step + 1) / 4, 1) for step in steps]
    np.testing.assert_allclose(rates(optim.warmup(4, 0.5)), np.multiply(0.5, ramp), rtol=1e-6)
    both = optim.warmup(4, optim.cosine(0.1, 10, 0.02))
    np.testing.assert_allclose(rates(both), np.multiply(cosine, ramp), rtol=1e-5)
    params, _ = trained(optim.Adam(both))
    check(params, by_numpy(adam(), np.multiply(cosine, ramp)[:STEPS]), rtol=1e-5)


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clipping(limit: float) -> None:
    gradients = GRADIENTS[0]
    flat = np.concatenate([np.ravel(g) for g in ir.tree_leaves(gradients)])
    length = np.sqrt((flat**2).sum())
    clipped, norm = optim.clip_by_global_norm(gradients, limit)
    np.testing.assert_allclose(norm.item(), length, rtol=1e-6)
    factor = min(1.0, limit / (length + 1e-6))
    check(clipped, [g * factor for g in ir.tree_leaves(gradients)], rtol=1e-6)
    assert ir.tree_leaves(clipped)[0].element == "f64"
    zero = ir.tree_map(np.zeros_like, gradients)
    check(optim.clip_by_global_norm(zero, limit)[0], ir.tree_leaves(zero))
