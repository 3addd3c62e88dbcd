"""Products by mma.sync as a config asks for them: shapes, sums of f16, parts of f32, warps in a grid, operands that begin
anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.artifact import DTYPES
from irc.runtime.driver import is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

RNG = np.random.default_rng(0)


def drawn(shape: tuple[int, int], element: str) -> Any:
    return RNG.integers(-3, 4, shape).astype(DTYPES[element])


def wide(x: Any) -> Any:
    return np.asarray(x).astype(np.float64)


@pytest.mark.parametrize(("m", "n", "k"), [(256, 128, 192), (257, 130, 95)], ids=["whole", "ragged"])
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"shape": [16, 8, 8]},
        {"tile": {"m": 64, "n": 64, "k": 64}, "warp_grid": [2, 2, 1], "stages": 3},
        {"tile": {"m": 64, "n": 64, "k": 64}, "warp_grid": [2, 1, 2], "stages": 3},
        {"tile": {"m": 32, "n": 32, "k": 64}, "warp_grid": [1, 1, 4], "stages": 1},
        {"split": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize(("element", "sums"), [("bf16", None), ("f16", None), ("f16", "f16"), ("f32", None)])
def test_products(element: str, sums: str | None, config: dict[str, Any], m: int, n: int, k: int) -> None:
    """Of small integers, whose sums are exact however they are added."""
    if k % config.get("split", 1):
        pytest.skip("K has no such parts")
    operation = ir.MatmulOperation(
        element, element, "f32", sums=sums, target="cuda", config={"instruction": "mma", **config}
    )
    a, b = drawn((m, k), element), drawn((k, n), element)
    np.testing.assert_array_equal(operation.run(a, b).sync(), wide(a) @ wide(b))
    assert operation.plan(a, b).kernels[0]["config"]["instruction"] == "mma"


@pytest.mark.parametrize("k", [64, 1024, 8192])
def test_f32_is_as_accurate_as_f32(k: int) -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((256, k), (k, 256)))
    wanted = wide(a) @ wide(b)
    found = ir.MatmulOperation("f32", "f32", "f32", target="cuda", config={"instruction": "mma"}).run(a, b).sync()
    assert np.abs(found - wanted).max() < 2e-6 * np.abs(wanted).max()
    rounded = ir.MatmulOperation("f32", "f32", "f32", target="cuda", precision="tf32", config={"instruction": "mma"})
    assert np.abs(rounded.run(a, b).sync() - wanted).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("precision", ["default", "f32"])
def test_promoted_sums_of_16_bits(precision: str) -> None:
    a, b = (np.abs(RNG.standard_normal(shape)).astype(DTYPES["bf16"]) for shape in ((512, 8192), (8192, 512)))
    found = ir.MatmulOperation("bf16", "bf16", "f32", precision=precision, target="cuda").run(a, b).sync()
    wanted = wide(a) @ wide(b)
    error = np.abs(found - wanted).max() / np.abs(wanted).max()
    assert error < (1e-6 if precision == "f32" else 1e-3)


@pytest.mark.parametrize("alignments", [(1, None, None), (None, 2, None), (1, 1, 1)], ids=str)
def test_operands_that_begin_anywhere(alignments: tuple[int | None, ...]) -> None:
    torch = pytest.importorskip("torch")
    operands = [ir.Operand(each, alignment=n) for each, n in zip(("bf16", "bf16", "f32"), alignments, strict=True)]
    operation = ir.MatmulOperation(operands[0], operands[1], operands[2], target="cuda")

    def matrix(rows: int, columns: int, dtype: Any, alignment: int | None) -> Any:
        first = alignment or 0
        memory = torch.randint(-3, 4, (rows * columns + first,), device="cuda").to(dtype)
        return memory[first:].view(rows, columns)

    a = matrix(128, 96, torch.bfloat16, alignments[0])
    b = matrix(96, 64, torch.bfloat16, alignments[1])
    c = matrix(128, 64, torch.float32, alignments[2])
    torch.testing.assert_close(operation.run(a, b, c).sync(), a.float() @ b.float() + c, rtol=0, atol=0)
