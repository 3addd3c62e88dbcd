"""Every pass of the tile level keeps the meaning of programs: with layouts, buffers, channels and roles they give the same results."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from drawing import long

from irc.dialects import tile as tile_dialect
from irc.driver.pipelines import PASSES, TILE
from irc.interpreters.tile import interpreter as tile

sys.path.insert(0, str(Path(__file__).parent))
from test_tile_kernels import check_same, context, tiled
from tile_cases import CASES, Case
from tile_cases_products import NN, PRODUCTS
from tile_cases_reductions import REDUCTIONS

GATING = Case(
    "gating-wgmma",
    'matmul config<tile = {m = 128, n = 128, k = 64}, stages = 4, cluster = [2, 1], warps = 8, schedule = "persistent", group = 8, '
    'indexing = "tma", instruction = "wgmma">',
    "%x: 256x192xbf16, %w: 192x512xbf16, %v: 192x512xbf16, %c: 512xbf16",
    f"""%p = nd.matmul %x, %w {{{NN}}} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
        %q = nd.matmul %x, %v {{{NN}}} : (tensor<256x192xbf16>, tensor<192x512xbf16>) -> tensor<256x512xf32>
        %cf = nd.cast %c : tensor<512xbf16> -> tensor<512xf32>
        %cb = nd.broadcast %cf {{dims = [1]}} : tensor<512xf32> -> tensor<256x512xf32>
        %h = nd.add %p, %cb : tensor<256x512xf32>
        %s = nd.sigmoid %h : tensor<256x512xf32>
        %g = nd.mul %s, %q : tensor<256x512xf32>
        %r = nd.cast %g : tensor<256x512xf32> -> tensor<256x512xbf16>""",
    "%r: 256x512xbf16",
)

PINGPONG = replace(
    GATING,
    name="gating-pingpong",
    anchor=GATING.anchor.replace("m = 128", "m = 64")
    .replace("warps = 8", "warps = 4")
    .replace('"persistent"', '"pingpong"'),
)

DYNAMIC = Case(
    "gating-dynamic",
    GATING.anchor.replace("m = 128, n = 128", "m = 64, n = 16")
    .replace("cluster = [2, 1]", "cluster = [1, 1]")
    .replace("warps = 8", "warps = 4")
    .replace('"persistent"', '"dynamic"'),
    GATING.arguments.replace("256x", "320x"),
    GATING.body.replace("256x", "320x"),
    GATING.results.replace("256x", "320x"),
)
"""Of more tiles than blocks."""

CHOSEN = {
    "bias", "transpose", "permute-batch", "pad", "concat", "take", "take_along", "scalar", "two-domains", "softmax", "softmax-looped",
    "norm", "norm-looped", "argmax-f32-9x37-1-looped", "sum-f32-37x9-0-looped", "cumsum-1", "cumsum-1-looped", "nested", "group-norm",
    "matmul-nn-bf16", "matmul-nn-f32", "matmul-heads-f32", "prologue", "heads-out", "gating",
}  # fmt: skip
SELECTED = [GATING, PINGPONG, DYNAMIC, *(case for case in (*CASES, *REDUCTIONS, *PRODUCTS) if case.name in CHOSEN)]


@long(6)
@pytest.mark.parametrize("case", SELECTED, ids=lambda c: c.name)
def test_passes_keep_the_meaning(case: Case) -> None:
    module, args, expected = tiled(case)
    for name in TILE[TILE.index("tile-kernels") + 1 :]:
        path, pass_class = PASSES[name].split(":")
        getattr(importlib.import_module(path), pass_class)().apply(context(), module)
        module.verify()
        for a, b in zip(expected, tile.evaluate(module, args), strict=True):
            check_same(a, b)
    if case in (GATING, PINGPONG):
        (partitions,) = (op for op in module.walk() if isinstance(op, tile_dialect.PartitionsOp))
        assert len(partitions.warp_counts) == (2 if case is GATING else 3)
        assert any(isinstance(op, tile_dialect.StoreWaitOp) for op in partitions.walk())
        assert any(isinstance(op, tile_dialect.CopyOp) and op.multicast is not None for op in partitions.walk())
