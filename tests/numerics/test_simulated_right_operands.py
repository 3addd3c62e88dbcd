"""Right operands of products that are computed from arrays which TMA brings, as left ones of the transposed product, on
the simulator; and operands of 8 bits on either side."""

from __future__ import annotations

import pytest
from drawing import long
from numerics.lowered import Lowered, lowered

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at-once", "late"])

PROGRAMS = {
    "packed": ("x: bf16[M, K], w: bf16[K, N], s: bf16[K, N]", "x @ (relu(w) * s)"),
    "packed-nk": ("x: bf16[K, M], w: bf16[N, K], s: bf16[N, K]", "transpose(x) @ transpose(w - s)"),
    "channels": ("x: bf16[M, K], w: i8[K, N], s: bf16[N]", "x @ (cast(w, bf16) * s)"),
    "channels-nk": ("x: bf16[M, K], w: i8[N, K], s: bf16[N, 1]", "x @ transpose(cast(w, bf16) * s)"),
    "f16": ("x: f16[M, K], w: i8[K, N], s: f16[N]", "cast(x @ (cast(w, f16) * s), bf16)"),
    "u8": ("x: bf16[M, K], w: u8[K, N]", "x @ cast(w, bf16)"),
    "u8-f16": ("x: f16[M, K], w: u8[N, K], s: f16[N, 1]", "cast(x @ transpose(cast(w, f16) * s), bf16)"),
    "e4m3": ("x: bf16[M, K], w: f8e4m3[K, N], s: bf16[N]", "x @ (cast(w, bf16) * s)"),
    "e5m2-nk": ("x: f16[M, K], w: f8e5m2[N, K], s: f16[]", "cast(x @ transpose(cast(w, f16) * s), bf16)"),
    "f32-scales": ("x: bf16[M, K], w: i8[K, N], s: f32[N]", "x @ cast(cast(w, f32) * s, bf16)"),
    "zero-points": ("x: bf16[M, K], w: u8[K, N], z: bf16[N], s: bf16[N]", "x @ ((cast(w, bf16) - z) * s)"),
    "rows": ("x: bf16[M, K], w: i8[K, N], s: bf16[K, 1]", "x @ (cast(w, bf16) * s)"),
    "left": ("x: i8[K, M], s: bf16[M], w: bf16[K, N]", "transpose(cast(x, bf16) * s) @ w"),
}
"""Computed operands, both majors of them."""


def program(name: str, tile: tuple[int, int, int] | None, m: int, n: int, k: int, split: int | None = None) -> Lowered:
    arguments, value = PROGRAMS[name]
    text = f"dim M = {m}, N = {n}, K = {k}\nfunc f({arguments}) -> bf16[M, N] {{\n    return {value}\n}}\n"
    return lowered(text, tile, swap_ab=True if tile and name != "left" else None, split=split)


@long(4)
@both_times
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_operands_in_registers(name: str, lazy: bool) -> None:
    """TMA brings all that is read as often as the operand, and no bank is met twice, but where pairs of rows go to a
    buffer that TMA stores."""
    lowered = program(name, (64, 64, 32), 64, 64, 160)
    lowered.check(lazy=lazy)
    (counts,) = lowered.counts()
    assert counts.executions("cuda.wgmma_registers") == 5 * 2 * 4
    assert counts.executions("cuda.tma_load") == 5 * lowered.ops("cuda.tma_load")
    assert counts.conflicts == 0 or name == "left"


NARROW = [name for name in PROGRAMS if name not in ("f32-scales", "zero-points", "packed", "packed-nk")]


@pytest.mark.parametrize("name", NARROW)
def test_bytes_are_widened_in_pairs(name: str) -> None:
    lowered = program(name, (64, 64, 32), 64, 64, 64)
    (counts,) = lowered.counts()
    assert counts.executions("cuda.packed_widen") == 64 * 64 // 2 // 32


@long(12)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("m", "n", "k"), [(48, 208, 144), (80, 80, 48), (144, 144, 272)], ids=str)
def test_ragged_right_operands_by_the_heuristic(name: str, m: int, n: int, k: int) -> None:
    lowered = program(name, None, m, n, k)
    lowered.check()
    (counts, *_) = lowered.counts()
    assert counts.executions("cuda.wgmma_registers")


@long(2)
@pytest.mark.parametrize(("tile", "split"), [((32, 128, 64), 2), ((64, 256, 64), 1), ((16, 192, 128), 1)], ids=str)
def test_tiles_of_bytes(tile: tuple[int, int, int], split: int) -> None:
    """Several warp groups, several rows of instructions in each, parts of K."""
    for name in ("channels", "channels-nk"):
        lowered = program(name, tile, 40, 256, 256, split=split)
        lowered.check()
        (counts, *_) = lowered.counts()
        assert counts.executions("cuda.packed_widen")


GROUPS = {
    "kn": ("w: i8[G, L, N], s: {type}[G, 1, N]", "cast(w, {type}) * s", "x @ cast(reshape({value}, [K, N]), bf16)"),
    "nk": (
        "w: i8[N, G, L], s: {type}[N, G, 1]",
        "cast(w, {type}) * s",
        "x @ transpose(cast(reshape({value}, [N, K]), bf16))",
    ),
}


def groups(majors: str, type: str, extent: int, tile: tuple[int, int, int] | None, split: int = 1) -> Lowered:
    arguments, value, result = GROUPS[majors]
    text = (
        f"dim M = 40, N = 80, G = {256 // extent}, L = {extent}, K = 256\n"
        f"func f(x: bf16[M, K], {arguments.format(type=type)}) -> bf16[M, N] {{\n"
        f"    return {result.format(value=value.format(type=type))}\n}}\n"
    )
    return lowered(text, tile, swap_ab=True if tile else None, split=split)


@long(2)
@both_times
@pytest.mark.parametrize("type", ["bf16", "f32"])
@pytest.mark.parametrize("majors", GROUPS)
def test_scales_of_groups_of_k(majors: str, type: str, lazy: bool) -> None:
    """A column of scales a step, by TMA where it is contiguous."""
    lowered = groups(majors, type, 64, (32, 64, 32))
    lowered.check(lazy=lazy)
    (counts,) = lowered.counts()
    copies = 3 if majors == "kn" else 2
    assert counts.executions("cuda.tma_load") == copies * 8 * 2 * 2
    assert counts.executions("cuda.load") == (0 if majors == "kn" else 5 * 8 * 2 * 2)
    assert counts.conflicts == 0


@long(2)
@pytest.mark.parametrize("extent", [16, 32, 128])
@pytest.mark.parametrize("majors", GROUPS)
def test_groups_by_the_heuristic(majors: str, extent: int) -> None:
    lowered = groups(majors, "bf16", extent, None)
    lowered.check()
    (counts, *_) = lowered.counts()
    assert bool(counts.executions("cuda.wgmma_registers")) == (extent >= 32)


def test_parts_of_k_of_groups() -> None:
    lowered = groups("kn", "f32", 64, (32, 64, 64), split=2)
    lowered.check()
    assert lowered.counts()[0].executions("cuda.wgmma_registers")


@pytest.mark.parametrize("majors", ["kn", "nk"])
def test_batches(majors: str) -> None:
    w, value = (
        ("w: i8[B, K, N]", "cast(w, bf16) * s")
        if majors == "kn"
        else ("w: i8[B, N, K]", "cast(permute(w, [0, 2, 1]), bf16) * s")
    )
    text = (
        "dim B = 3, M = 40, N = 80, K = 128\n"
        f"func f(x: bf16[B, M, K], {w}, s: bf16[B, 1, N]) -> bf16[B, M, N] {{\n    return x @ ({value})\n}}\n"
    )
    program = lowered(text)
    program.check()
    (counts, *_) = program.counts()
    assert counts.executions("cuda.packed_widen")


def test_bytes_that_tma_cannot_bring() -> None:
    """Rows of 76 bytes: a producer reads them and writes the operand."""
    program("channels", None, 40, 76, 64).check()


def test_a_gated_unit_of_bytes() -> None:
    """Two products, the second of which reads the first one's result in its epilogue."""
    program = lowered(
        "func f(x: bf16[40, 128], w: i8[128, 80], u: i8[128, 80], s: bf16[80]) -> bf16[40, 80] {\n"
        "    return silu(x @ (cast(w, bf16) * s)) * (x @ (cast(u, bf16) * s))\n}\n"
    )
    program.check()
    assert all(counts.executions("cuda.packed_widen") for counts in program.counts())
