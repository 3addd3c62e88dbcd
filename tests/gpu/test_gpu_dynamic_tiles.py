"""Products whose blocks take tiles while they run: right call after call, as a graph, and on many streams at once, which
share no counter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.artifact import DTYPES
from irc.runtime.driver import device, is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

CONFIGS: dict[str, dict[str, Any]] = {
    "warp groups": {},
    "few steps": {"tile": {"m": 64, "n": 64, "k": 64}, "stages": 6},
    "mma": {"instruction": "mma", "tile": {"m": 64, "n": 64, "k": 32}},
    "fma": {"instruction": "fma", "tile": {"m": 64, "n": 64, "k": 16}},
}
ROWS, INNER, COLUMNS = 4096, 192, 4104


def operation(name: str) -> ir.MatmulOperation:
    return ir.MatmulOperation("bf16", "bf16", "f32", target="cuda", config={**CONFIGS[name], "schedule": "dynamic"})


def drawn(seed: int) -> tuple[Any, Any]:
    """Small integers, whose sums are exact however they are added."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, shape).astype(DTYPES["bf16"]) for shape in ((ROWS, INNER), (INNER, COLUMNS)))
    return a, b


def wanted(a: Any, b: Any) -> Any:
    return a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("name", CONFIGS)
def test_calls(name: str) -> None:
    for seed in range(4):
        a, b = drawn(seed)
        np.testing.assert_array_equal(operation(name).run(a, b).sync(), wanted(a, b))


def on_gpu(torch: Any, array: Any) -> Any:
    return torch.from_numpy(array.astype(np.float32)).cuda().bfloat16()


@pytest.mark.parametrize("name", ["warp groups", "few steps"])
def test_graphs(name: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = drawn(0)
    arrays = [on_gpu(torch, each) for each in (a, b)]
    graph = operation(name).plan(*arrays).graph(*arrays)
    for _ in range(20):
        graph()
    np.testing.assert_array_equal(graph().cpu().numpy(), wanted(a, b))


@pytest.mark.parametrize("name", ["warp groups", "few steps"])
def test_many_streams(name: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = drawn(0)
    arrays = [on_gpu(torch, each) for each in (a, b)]
    program = operation(name).plan(*arrays)
    torch.cuda.synchronize()
    results = [program(*arrays, stream=device().take_stream()) for _ in range(24)]
    torch.cuda.synchronize()
    for found in results:
        np.testing.assert_array_equal(found.cpu().numpy(), wanted(a, b))
