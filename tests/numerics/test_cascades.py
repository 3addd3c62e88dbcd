"""Two products with reductions between them are one kernel: right on the simulator, which finds races, and each pass
on the way keeps the meaning."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drawing import long, slow
from numerics.harness import check_kernels, check_passes

import irc
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower, passes_of
from irc.driver.pipelines import KERNEL
from irc.driver.program import isolate, new_context, parse

HEADS = """
dim B = {b}, H = {h}, S = {s}, T = {t}, D = {d}, E = {e}
func f(q: {type}[B, H, S, D], k: {type}[B, H, T, D], v: {type}[B, H, T, E]) -> {type}[B, H, S, E] {{
    return attention(q, k, v, causal={causal})
}}
"""

SCORES = """
dim S = 192, T = 256, D = 64
func f(q: bf16[S, D], k: bf16[T, D], v: bf16[T, D]) -> bf16[S, D] {{
    s = cast(q @ transpose(k), f32)
    rows = iota([S, T], i32, axis=0)
    columns = iota([S, T], i32, axis=1)
    return cast(softmax({scores}), bf16) @ v
}}
"""

MASKED = {
    "plain": "s",
    "scaled": "s * 0.125",
    "soft cap": "30.0 * tanh(s / 30.0)",
    "slope": "s * 0.125 - 0.1 * cast(rows - columns, f32)",
    "causal": "where(columns <= rows, s * 0.125, -inf)",
    "window": "where((columns <= rows) & (columns > rows - 70), s, -inf)",
    "both sides": "where((columns < rows + 33) & (columns >= rows - 50), s, -inf)",
    "prefix": "where(columns < 100, s, -inf)",
    "chunks": "where(columns // 64 == rows // 64, s, -inf)",
}


def heads(b: int, h: int, s: int, t: int, d: int, e: int, *, type: str = "bf16", causal: bool = False) -> str:
    return HEADS.format(b=b, h=h, s=s, t=t, d=d, e=e, type=type, causal=str(causal).lower())


def is_one_kernel(text: str, arch: str = "sm_90a") -> bool:
    module = lower(isolate(parse(text, "cascade.irc")), "kernel", arch=arch)
    kernels = [op for op in module.walk() if op.name == "kernel.fused"]
    return len(kernels) == 1 and "cascade" in str(kernels[0].properties["anchor"])


@long(2)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 2, 128, 256, 64, 64), (2, 1, 100, 200, 64, 32), (1, 1, 192, 128, 128, 128)])
def test_attention(shape: tuple[int, ...], causal: bool) -> None:
    text = heads(*shape, causal=causal)
    assert is_one_kernel(text)
    check_kernels(text)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("shape", [(1, 1, 128, 80, 48, 112), (1, 1, 64, 64, 32, 176)])
def test_unequal_heads(shape: tuple[int, ...], arch: str) -> None:
    text = heads(*shape, type="f16", causal=True)
    assert is_one_kernel(text, arch)
    check_kernels(text, arch=arch)


@long(6)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows", [32, 100, 192])
def test_shared_keys(rows: int, causal: bool) -> None:
    """Heads that share keys are batches, or rows of one tile where each has few."""
    text = f"""
func f(q: bf16[2, 6, {rows}, 64], k: bf16[2, 2, 160, 64], v: bf16[2, 2, 160, 64]) -> bf16[2, 6, {rows}, 64] {{
    return attention(q, k, v, causal={str(causal).lower()})
}}
"""
    assert is_one_kernel(text)
    check_kernels(text)


@long(2)
@pytest.mark.parametrize("scores", MASKED)
def test_scores(scores: str) -> None:
    text = SCORES.format(scores=MASKED[scores])
    assert is_one_kernel(text)
    check_kernels(text)


@long(3)
@pytest.mark.parametrize(
    ("shape", "causal"),
    [((2, 8, 4, 1, 2048, 64, 64), False), ((3, 1, 1, 70, 1280, 64, 32), False), ((2, 8, 4, 40, 1024, 64, 64), True)],
)
def test_parts(shape: tuple[int, ...], causal: bool) -> None:
    """Few rows: blocks walk over parts of the keys, and a second kernel puts together what they come to."""
    b, h, shared, s, t, d, e = shape
    text = f"""
func f(q: bf16[{b}, {h}, {s}, {d}], k: bf16[{b}, {h // shared}, {t}, {d}], v: bf16[{b}, {h // shared}, {t}, {e}]) -> bf16[{b}, {h}, {s}, {e}] {{
    return attention(q, k, v, causal={str(causal).lower()})
}}
"""
    assert anchors(text) == ["cascade", "reduce"]
    check_kernels(text)


def test_parts_of_masked_rows() -> None:
    """Parts without a column that a row sees; rows without any column are NaN, as in numpy."""
    text = """
        func f(q: bf16[64, 64], k: bf16[1024, 64], v: bf16[1024, 64]) -> bf16[64, 64] {
            s = cast(q @ transpose(k), f32)
            rows = iota([64, 1024], i32, axis=0)
            columns = iota([64, 1024], i32, axis=1)
            return cast(softmax(where(columns < rows - 10, s, -inf)), bf16) @ v
        }
    """
    assert anchors(text) == ["cascade", "reduce"]
    check_kernels(text)


def test_products_without_reductions() -> None:
    text = """
        dim M = 512, H = 192, D = 64
        func f(x: bf16[M, D], a: bf16[D, H], b: bf16[H, D]) -> bf16[M, D] {
            return gelu(x @ a) @ b
        }
    """
    assert is_one_kernel(text)
    check_kernels(text)


def test_order_of_axes() -> None:
    """Heads beside the elements of a head: the arrays lie as a linear layer leaves them."""
    text = """
        dim B = 2, H = 3, S = 128, D = 32
        func f(q: bf16[B, S, H, D], k: bf16[B, S, H, D], v: bf16[B, S, H, D]) -> bf16[B, S, H, D] {
            qh = permute(q, [0, 2, 1, 3])
            kh = permute(k, [0, 2, 1, 3])
            vh = permute(v, [0, 2, 1, 3])
            return permute(attention(qh, kh, vh), [0, 2, 1, 3])
        }
    """
    check_kernels(text)


@pytest.mark.parametrize("causal", [False, True])
def test_passes(causal: bool) -> None:
    for text in (heads(1, 2, 96, 128, 32, 32, causal=causal), gradients(1, 2, 1, 96, 128, 32, 32, "bf16", causal)):
        module = isolate(parse(text, "cascade.irc"))
        check_passes(module, passes_of(KERNEL), new_context())


PARTS = """
dim B = 2, S = {s}, H = 4, K = {k}, D = 32
func y(x: bf16[B, S, (H + 2 * K) * D]) -> bf16[B, H, S, D] {{
    q = permute(reshape(x[:, :, :H * D], [B, S, H, D]), [0, 2, 1, 3])
    k = permute(reshape(x[:, :, H * D:(H + K) * D], [B, S, K, D]), [0, 2, 1, 3])
    v = permute(reshape(x[:, :, (H + K) * D:], [B, S, K, D]), [0, 2, 1, 3])
    return attention(q, k, v, causal=true)
}}
func loss(x: bf16[B, S, (H + 2 * K) * D], g: bf16[B, H, S, D]) -> f32[] {{
    return sum(cast(y(x), f32) * cast(g, f32))
}}
func f(x: bf16[B, S, (H + 2 * K) * D], g: bf16[B, H, S, D]) -> (bf16[B, H, S, D], bf16[B, S, (H + 2 * K) * D]) {{
    return y(x), grad(loss, wrt=[x])(x, g)
}}
"""


@slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("s", "k"), [(128, 4), (100, 2)])
def test_parts_of_arrays(s: int, k: int, arch: str) -> None:
    """Queries, keys and values that lie side by side are read in place, in the gradients too."""
    text = PARTS.format(s=s, k=k)
    kinds = anchors(text, arch)
    assert [kinds.count(each) for each in ("cascade", "matmul")] == [3, 0]
    module = lower(isolate(parse(text, "parts.irc")), "kernel", arch=arch)
    slices = [op for op in module.walk() if op.name == "nd.slice"]
    around = [op.parent_op() for op in slices]
    assert slices and all(isinstance(op, FusedOp) and op.kind.value == "cascade" for op in around)
    check_kernels(text, arch=arch)


PROJECTED = """
dim B = 1, S = 128, H = 2, D = 32
func f(x: bf16[B, S, 64], w: bf16[64, 3 * H * D]) -> (bf16[B, S, 3 * H * D], bf16[B, S, H * D]) {
    y = x @ w
    q = permute(reshape(y[:, :, 0:H * D], [B, S, H, D]), [0, 2, 1, 3])
    k = permute(reshape(y[:, :, H * D:2 * H * D], [B, S, H, D]), [0, 2, 1, 3])
    v = permute(reshape(y[:, :, 2 * H * D:], [B, S, H, D]), [0, 2, 1, 3])
    return y, reshape(permute(attention(q, k, v, causal=true), [0, 2, 1, 3]), [B, S, H * D])
}
"""


def test_parts_of_a_product() -> None:
    """Which is rounded once, where it is stored."""
    assert anchors(PROJECTED) == ["matmul", "cascade"]
    check_kernels(PROJECTED, arch="sm_90a")


GRADIENTS = """
func loss(q: {type}[{q}], k: {type}[{k}], v: {type}[{v}], g: {type}[{y}]) -> f32[] {{
    return sum(cast(attention(q, k, v, causal={causal}), f32) * cast(g, f32))
}}
func f(q: {type}[{q}], k: {type}[{k}], v: {type}[{v}], g: {type}[{y}]) -> ({type}[{q}], {type}[{k}], {type}[{v}]) {{
    return grad(loss, wrt=[q, k, v])(q, k, v, g)
}}
"""


def gradients(b: int, h: int, shared: int, s: int, t: int, d: int, e: int, type: str, causal: bool) -> str:
    shapes = {"q": (b, h, s, d), "k": (b, h // shared, t, d), "v": (b, h // shared, t, e), "y": (b, h, s, e)}
    extents = {name: ", ".join(map(str, shape)) for name, shape in shapes.items()}
    return GRADIENTS.format(**extents, type=type, causal=str(causal).lower())


def anchors(text: str, arch: str = "sm_90a") -> list[str]:
    module = lower(isolate(parse(text, "cascade.irc")), "kernel", arch=arch)
    return [op.kind.value for op in module.walk() if isinstance(op, FusedOp)]


@long(9)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("shape", "cascades"),
    [
        ((1, 2, 1, 200, 136, 64, 64, "bf16"), 3),  # unequal extents with tails
        ((1, 4, 2, 128, 192, 64, 64, "f16"), 3),  # heads that share keys
        ((2, 2, 1, 128, 128, 64, 32, "bf16"), 4),  # results of two shapes
        ((1, 16, 1, 128, 128, 128, 128, "bf16"), 3),
    ],
)
def test_gradients(shape: tuple[int, int, int, int, int, int, int, str], cascades: int, causal: bool) -> None:
    """The backward pass walks over the keys for the queries' gradient, and over the queries for the others."""
    text = gradients(*shape, causal)
    found = [each for each in anchors(text) if each in ("cascade", "matmul")]
    assert found == ["cascade"] * cascades
    check_kernels(text)


OPTIONS = """
dim B = 1, H = {h}, K = {k}, S = {s}, T = {t}, D = 64
func y(q: bf16[B, H, S, D], k: bf16[B, K, T, D], v: bf16[B, K, T, D], m: {bias}) -> bf16[B, H, S, D] {{
    return attention(q, k, v, {options})
}}
func loss(q: bf16[B, H, S, D], k: bf16[B, K, T, D], v: bf16[B, K, T, D], m: {bias}, g: bf16[B, H, S, D]) -> f32[] {{
    return sum(cast(y(q, k, v, m), f32) * cast(g, f32))
}}
func f(q: bf16[B, H, S, D], k: bf16[B, K, T, D], v: bf16[B, K, T, D], m: {bias}, g: bf16[B, H, S, D]) -> (
    bf16[B, H, S, D], bf16[B, H, S, D], bf16[B, K, T, D], bf16[B, K, T, D]) {{
    d_q, d_k, d_v = grad(loss, wrt=[q, k, v])(q, k, v, m, g)
    return y(q, k, v, m), d_q, d_k, d_v
}}
"""


@long(12)
@pytest.mark.parametrize(
    ("bias", "options"),
    [
        ("bool[B, 1, 1, T]", "bias=m"),  # padding
        ("bool[S, T]", "bias=m, causal=true"),  # rows that see nothing among them
        ("bf16[H, S, T]", "bias=m"),
        ("f32[S, T]", "bias=m, window=90, causal=true"),
        ("bf16[1]", "window=70, causal=true"),
        ("bf16[1]", "window=50"),  # the last queries see nothing
    ],
)
@pytest.mark.parametrize("shape", [(2, 2, 200, 136), (4, 2, 128, 192)])
def test_masks_and_biases(shape: tuple[int, int, int, int], bias: str, options: str) -> None:
    """Forward pass and gradients are cascades, whatever is added to the scores, and wherever keys are hidden."""
    names = dict(zip("hkst", shape, strict=True))
    text = OPTIONS.format(**names, bias=bias, options=options)
    assert [each for each in anchors(text) if each in ("cascade", "matmul")] == ["cascade"] * 3
    check_kernels(text)


@slow
def test_gradients_on_warps() -> None:
    text = gradients(1, 8, 1, 128, 128, 64, 64, "bf16", True)
    assert "matmul" not in anchors(text, "sm_80")
    check_kernels(text, arch="sm_80")


def test_special_values() -> None:
    """Rows without any column are NaN, as in numpy; infinities and NaN stay in their rows."""
    text = SCORES.format(scores="where(columns < rows - 10, s, -inf)")
    assert is_one_kernel(text)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((192, 64), (256, 64), (256, 64)))
    q[40, 3], q[50, 5] = np.nan, np.inf
    with np.errstate(all="ignore"):
        found, expected = (
            np.asarray(irc.compile(text, target=t)(q, k, v)).astype(np.float64) for t in ("sim", "interpret")
        )
    assert np.isnan(expected[:11]).all()
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.nanmax(np.abs(found - expected)) < 2e-2
