"""Products of which each tile sums a part of K of its own, some of them nothing: right on the simulator in every form."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long

import irc
from irc.ir import targets

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class BandedProduct:
    """x w, where rows m.. of a tile sum the steps of K from m - `back` to m + `ahead`.

    config: the fields of its `#kernel.config`. wide: x is of f32, and rounded in the program.
    """

    config: str
    back: int
    ahead: int
    wide: bool = False
    tiles: str = ""
    rows: int = 320
    columns: int = 128
    depth: int = 192
    step: int = 64

    @property
    def text(self) -> str:
        m, n, k, step = self.rows, self.columns, self.depth, self.step
        element = "f32" if self.wide else "bf16"
        loaded = f"%a = tile.load %x[%m, %k] : !tile.view<{m}x{k}xbf16> -> tensor<{step}x{step}xbf16>"
        if self.wide:
            loaded = f"""%xw = tile.load %x[%m, %k] : !tile.view<{m}x{k}xf32> -> tensor<{step}x{step}xf32>
{_rounded("%a", "%xw", f"tensor<{step}x{step}xf32>")}"""
        acc = f"tensor<{step}x{step}xf32>"
        types = f"tensor<{m}x{k}x{element}>, tensor<{k}x{n}xbf16>"
        return f"""builtin.module {{
func.func @f(%x: tensor<{m}x{k}x{element}>, %w: tensor<{k}x{n}xbf16>) -> tensor<{m}x{n}xbf16> {{
%0 = kernel.launch @banded(%x, %w) : ({types}) -> tensor<{m}x{n}xbf16>
func.return %0 : tensor<{m}x{n}xbf16>
}}
tile.program @banded(%x: !tile.view<{m}x{k}x{element}>, %w: !tile.view<{k}x{n}xbf16>, %y: !tile.view<{m}x{n}xbf16>) \
{{results = 1 : i64, config = #kernel.config<{self.config}>}} {{
tile.for_tiles (%m, %n) extents [{m}, {n}] steps [{step}, {step}] {self.tiles}{{
%c0 = arith.constant 0 : index
%step = arith.constant {step} : index
%depth = arith.constant {k} : index
%zero = arith.constant 0.0 : f32
%z = tile.splat %zero : f32 -> {acc}
%back = arith.constant {self.back} : index
%from = arith.subi %m, %back : index
%block = arith.floordivsi %from, %step : index
%begin = arith.muli %block, %step : index
%low = arith.maxsi %begin, %c0 : index
%ahead = arith.constant {self.ahead} : index
%to = arith.addi %m, %ahead : index
%high = arith.minsi %to, %depth : index
%sum = scf.for %k = %low to %high step %step iter_args(%acc = %z) -> ({acc}) {{
{loaded}
%b = tile.load %w[%k, %n] : !tile.view<{k}x{n}xbf16> -> tensor<{step}x{step}xbf16>
%next = tile.dot %a, %b, %acc : tensor<{step}x{step}xbf16>, tensor<{step}x{step}xbf16>, {acc} -> {acc}
scf.yield %next : {acc}
}}
{_rounded("%r", "%sum", acc)}
tile.store %r, %y[%m, %n] : tensor<{step}x{step}xbf16>, !tile.view<{m}x{n}xbf16>
}}
}}
}}"""

    def arguments(self) -> list[Array]:
        rng = np.random.default_rng(0)
        shapes = (self.rows, self.depth), (self.depth, self.columns)
        x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
        return [x.astype(np.float32) if self.wide else x, w]

    def expected(self, arguments: list[Array]) -> Array:
        """In float64, of whole steps."""
        x, w = (array.astype(np.float64) for array in arguments)
        result = np.zeros((self.rows, self.columns))
        for m in range(0, self.rows, self.step):
            low, high = max(0, (m - self.back) // self.step * self.step), min(self.depth, m + self.ahead)
            for k in range(low, high, self.step):
                result[m : m + self.step] += x[m : m + self.step, k : k + self.step] @ w[k : k + self.step]
        return result


def _rounded(result: str, value: str, type: str) -> str:
    head = f"{result} = tile.map {value} : {type} -> {type.replace('f32', 'bf16')}"
    return f"{head} {{\n^bb0(%s: f32):\n%t = arith.truncf %s : f32 to bf16\ntile.yield %t : bf16\n}}"


TRIANGLE = BandedProduct("", 1000, 128)
BAND = BandedProduct("", 64, 64)
LATE = BandedProduct("", 1000, -60)
"""The first tiles sum nothing."""

FORMS = [
    dataclasses.replace(product, config=f'instruction = "{instruction}", warps = 4, stages = {stages}', wide=wide)
    for instruction, counts in {"fma": (1,), "mma": (1, 3), "wgmma": (1, 3)}.items()
    for stages in counts
    for product in (TRIANGLE, BAND, LATE)
    for wide in (False, True)
] + [
    dataclasses.replace(
        product,
        config=f'instruction = "wgmma", warps = 4, stages = 3, schedule = "{schedule}"',
        wide=wide,
        tiles='schedule "persistent" ',
    )
    for schedule in ("persistent", "pingpong")
    for product in (TRIANGLE, BAND, LATE)
    for wide in (False, True)
]


def _name(product: BandedProduct) -> str:
    return f"{product.config.replace(' ', '')}-{product.back}-{product.ahead}{'-wide' if product.wide else ''}"


@long(12)
@pytest.mark.parametrize("product", FORMS, ids=_name)
def test_it_is_right_on_the_simulator(product: BandedProduct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an H200 of two SMs, so that blocks have several tiles: what a tile without a step leaves, the next one finds."""
    known = {t.name: t for t in targets.TARGETS}
    known["sm_90a"] = dataclasses.replace(known["sm_90a"], sms=2)
    monkeypatch.setattr(targets, "_by_name", lambda: known)
    (tmp_path / "banded.mlir").write_text(product.text)
    arguments = product.arguments()
    result = np.asarray(irc.compile(tmp_path / "banded.mlir", target="sim")(*arguments)).astype(np.float64)
    expected = product.expected(arguments)
    assert np.abs(result - expected).max() < 1e-2 * np.abs(expected).max()
