"""The operation object for matrix products."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError

RNG = np.random.default_rng(0)


def drawn(*shape: int, element: str = "bf16") -> np.ndarray[Any, Any]:
    return RNG.integers(-4, 5, shape).astype(ml_dtypes.bfloat16 if element == "bf16" else element)


def exact(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x).astype(np.float64)


A, B, C = drawn(64, 48), drawn(48, 32), drawn(64, 32)
PRODUCT = exact(A) @ exact(B)


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("a", ["row", "column"])
@pytest.mark.parametrize("b", ["row", "column"])
@pytest.mark.parametrize("d", ["row", "column"])
def test_layouts(target: str, a: str, b: str, d: str) -> None:
    operation = ir.MatmulOperation(ir.Operand("bf16", a), ir.Operand("bf16", b), ir.Operand("f32", d), target=target)
    found = operation.run(np.asfortranarray(A) if a == "column" else A, B).sync()
    np.testing.assert_array_equal(found, PRODUCT)
    assert found.flags.c_contiguous == (d == "row")
    executable = operation.plan(A, B)
    shapes = [spec.shape for spec in (*executable.arguments, *executable.results)]
    assert shapes == [
        (64, 48)[:: 1 if a == "row" else -1],
        (48, 32)[:: 1 if b == "row" else -1],
        found.T.shape[:: -1 if d == "row" else 1],
    ]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("alignments", [(1, None, None), (None, 2, None), (None, None, 1), (8, 8, 4)], ids=str)
def test_operands_that_begin_anywhere(alignments: tuple[int | None, ...], arch: str) -> None:
    operands = [ir.Operand(each, alignment=n) for each, n in zip(("bf16", "bf16", "f32"), alignments, strict=True)]
    operation = ir.MatmulOperation(operands[0], operands[1], operands[2], target="sim", arch=arch)
    c = C.astype(np.float32)
    np.testing.assert_array_equal(operation.run(A, B, c).sync(), PRODUCT + exact(c))
    wanted = [16 if n is None else n * size for n, size in zip(alignments, (2, 2, 4), strict=True)]
    assert [spec.align for spec in operation.plan(A, B, c).arguments] == wanted
    is_free = arch == "sm_90a" and wanted[:2] == [16, 16]
    assert (operation.plan(A, B, c).kernels[0]["config"]["indexing"] == "tma") == is_free


def test_scales_are_arguments_and_need_no_other_program() -> None:
    operation = ir.MatmulOperation("bf16", "bf16", "f32", epilogue=ir.relu)
    c = C.astype(np.float32)
    for alpha, beta in ((2.0, 0.5), (np.float32(-1), np.array([3], np.float32))):
        found = operation.run(A, B, c, alpha=alpha, beta=beta).sync()
        np.testing.assert_array_equal(found, np.maximum(float(alpha) * PRODUCT + float(np.squeeze(beta)) * exact(C), 0))
    assert operation.plan(A, B, c, alpha=1, beta=1) is operation.plan(A, B, c, alpha=7, beta=0)
    np.testing.assert_array_equal(operation.run(A, B, c).sync(), np.maximum(PRODUCT + exact(C), 0))
    np.testing.assert_array_equal(operation.run(A, B).sync(), np.maximum(PRODUCT, 0))
    assert operation.plan(A, B) is not operation.plan(A, B, c)


def test_an_epilogue_takes_further_arguments_and_gives_further_results() -> None:
    def epilogue(x: ir.Tensor, bias: ir.Tensor, slope: ir.Tensor) -> tuple[ir.Tensor, ...]:
        y = x + bias
        return ir.where(y > 0, y, slope * y), y.sum(0), y.max()

    operation = ir.MatmulOperation("bf16", "bf16", "f32", epilogue=epilogue)
    bias = np.arange(32, dtype=np.float32)
    d, sums, most = operation.run(A, B, bias=bias, slope=0.25).sync()
    y = PRODUCT + bias
    np.testing.assert_array_equal(d, np.where(y > 0, y, y / 4))
    np.testing.assert_array_equal(sums, y.sum(0))
    assert most == y.max()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_sums_of_f16(arch: str) -> None:
    a, b = (drawn(*shape, element="float16") for shape in ((32, 32), (32, 16)))
    operation = ir.MatmulOperation("f16", "f16", "f32", sums="f16", target="sim", arch=arch)
    np.testing.assert_array_equal(operation.run(a, b).sync(), exact(a) @ exact(b))
    assert operation.plan(a, b).kernels[0]["config"]["instruction"] == "mma"


def test_gradients_of_sums_of_f16_are_summed_in_f32() -> None:
    a, b = (drawn(*shape, element="float16") for shape in ((32, 32), (32, 16)))
    found = ir.grad(lambda a: ir.matmul(a, b, precision="f16").astype("f32").sum())(ir.Tensor(a))
    np.testing.assert_array_equal(exact(found), np.broadcast_to(exact(b).sum(1), (32, 32)))


def test_integers_are_rounded_to_nearest_and_saturate() -> None:
    a, b = drawn(16, 32, element="int8"), drawn(32, 16, element="int8")
    sums = a.astype(np.int32) @ b.astype(np.int32)
    exactly = ir.MatmulOperation("i8", "i8", "i32").run(a, b).sync()
    np.testing.assert_array_equal(exactly, sums)
    found = ir.MatmulOperation("i8", "i8", "i8").run(a, b, alpha=1.25).sync()
    np.testing.assert_array_equal(found, np.clip(np.rint(sums * 1.25), -128, 127))


def test_batches_and_several_products() -> None:
    a, b = drawn(3, 16, 8), drawn(8, 4)
    operation = ir.MatmulOperation("bf16", "bf16", "f32", epilogue=lambda x, bias: x + bias, target="sim")
    bias = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(operation.run(a, b, bias=bias).sync(), exact(a) @ exact(b) + bias)
    found = operation.run([A, A, A[:32]], [B, B, B], bias=0.5).sync()
    for each, rows in zip(found, (64, 64, 32), strict=True):
        np.testing.assert_array_equal(each, PRODUCT[:rows] + 0.5)
    biases = [np.full(32, value, np.float32) for value in (1, 2)]
    first, second = operation.run([A, A], [B, B], bias=biases).sync()
    np.testing.assert_array_equal(second - first, np.ones((64, 32)))
    plan = operation.plan([A, A], [B, B], bias=biases)
    assert [(kernel["launches"], len(plan.results)) for kernel in plan.kernels] == [(1, 2)], "they are one launch"


def test_results_are_as_arguments_are_and_where_they_are_wanted() -> None:
    operation = ir.MatmulOperation("bf16", "bf16", "f32")
    found = operation.run(ir.Tensor(A), B)
    assert found.is_done
    assert isinstance(found.sync(), ir.Tensor)
    out = np.zeros((64, 32), np.float32)
    assert operation.run(A, B, out=out).sync() is out
    np.testing.assert_array_equal(out, PRODUCT)
    by_columns = np.zeros((64, 32), np.float32, order="F")
    column = ir.MatmulOperation("bf16", "bf16", ir.Operand("f32", "column"))
    assert column.run([A], [B], out=[by_columns]).sync()[0] is by_columns
    np.testing.assert_array_equal(by_columns, PRODUCT)


def test_tensors_of_torch_give_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.from_numpy(x.astype(np.float32)) for x in (A, B))
    found = ir.MatmulOperation("f32", ir.Operand("f32", "column"), "f32").run(a, b.t().contiguous().t()).sync()
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), PRODUCT)


def test_a_config_says_how_the_kernel_is_made() -> None:
    config = {"tile": {"m": 32, "n": 32, "k": 16}, "stages": 2, "warps": 2, "instruction": "mma", "split": 3}
    for arch in ("sm_80", "sm_90a"):
        operation = ir.MatmulOperation(
            "bf16", "bf16", "f32", epilogue=lambda x: ir.tanh(x * 0.0), config=config, target="sim", arch=arch
        )
        kernels = operation.plan(A, B).kernels
        assert {name: kernels[0]["config"][name] for name in config if name != "split"} == {
            name: value for name, value in config.items() if name != "split"
        }
        assert len(kernels) == 2, "one adds up the parts"
        assert not operation.run(A, B).sync().any()
    on_cpu = ir.MatmulOperation("bf16", "bf16", "f32", config=config, target="cpu")
    np.testing.assert_array_equal(on_cpu.run(A, B).sync(), PRODUCT)


def test_warps_lie_in_a_grid_along_m_n_and_k() -> None:
    config = {"tile": {"m": 32, "n": 32, "k": 64}, "warp_grid": [1, 2, 2], "instruction": "mma"}
    operation = plain(config=config, target="sim", arch="sm_80")
    np.testing.assert_array_equal(operation.run(A, B).sync(), PRODUCT)
    (kernel,) = operation.plan(A, B).kernels
    assert (kernel["config"]["warps"], kernel["block"]) == (4, [128, 1, 1])


def test_programs_beyond_a_number_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ir.product_operation, "MAX_PLANS", 2)
    operation = ir.MatmulOperation("bf16", "bf16", "f32")
    for rows in (8, 16, 24):
        operation.run(A[:rows], B).sync()
    assert len(operation._plans) == 2


def plain(**options: Any) -> ir.MatmulOperation:
    return ir.MatmulOperation("bf16", "bf16", "f32", **options)


C32 = C.astype(np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ir.Operand("bf16", "diagonal"), "unknown layout 'diagonal' of an operand"),
        (lambda: ir.Operand("bf16", alignment=3), "bf16 are aligned to 1, 2, 4, 8 elements, found alignment = 3"),
        (lambda: ir.MatmulOperation("bf16", "f16", "f32"), "no product of bf16 and f16"),
        (lambda: plain(sums="f64"), "products of bf16 are not summed in f64"),
        (lambda: ir.matmul(A, B, precision="f16"), "sums of f16 are of f16 operands and for a result of f16"),
        (lambda: plain(config={"tiles": 3}), "a config has no field tiles"),
        (lambda: plain(config={"stages": 0}), "config: stages must be a positive integer, found 0"),
        (lambda: plain(config={"tile": {"q": 3}}, target="sim").run(A, B), "q"),
        (lambda: plain(config={"tile": {"m": "x"}}), "config: tile must be positive integers by the names"),
        (lambda: plain().run(A[0], B), r"a: expected \[\.\.\., M, K\], found bf16\[48\]"),
        (
            lambda: plain().run(A, B[:40]),
            r"b: expected 48 rows, as many as a has columns \(bf16\[64, 48\]\), found bf16\[40, 32\]",
        ),
        (lambda: plain().run(A, exact(B)), r"b: expected elements bf16, found f64\[48, 32\]"),
        (lambda: plain().run(A, B, C32[1:]), r"c: expected f32\[64, 32\], found f32\[63, 32\]"),
        (lambda: plain().run(A, B, beta=2), "a product has beta and no c"),
        (lambda: plain().run(A, B, alpha=np.ones(2, np.float32)), "alpha: expected a number, or an array of one f32"),
        (lambda: plain().run([A], B), "b: expected as many arrays as a has, 1, and one at least, found ndarray"),
        (lambda: plain().run([], []), "a: expected as many arrays as a has, 0, and one at least, found 0"),
        (lambda: plain().run(A, B, bias=C), "the epilogue of the product takes no bias"),
        (lambda: plain().run(A, B, out=A), "result .*: expected f32"),
        (lambda: plain().run([A], [B], out=[A, A]), "expected 1 arrays in out, found 2"),
        (lambda: plain(epilogue=lambda x, s: x * s).run(A, B), "takes s, which run is not given"),
        (lambda: plain(epilogue=lambda x: x.sum()).run(A, B), r"gives f32\[\], expected the shape of the sums"),
        (lambda: plain(epilogue=lambda x: 3).run(A, B), "gives int, expected arrays"),
        (lambda: plain(epilogue=lambda x: x + ir.Tensor(C32)).run(A, B), "uses an array beside its arguments"),
        (lambda: plain().run(drawn(2, 4, 4), drawn(3, 4, 4)), "the batches of a .* do not fit together"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(call: Any, message: str) -> None:
    with pytest.raises(IrcError, match=message):
        call()


def test_a_config_needs_a_kernel_of_a_product() -> None:
    operation = plain(epilogue=lambda x: ir.zeros(x.shape), config={"stages": 3}, target="sim")
    with pytest.raises(IrcError, match="no kernel of the program is a matrix product"):
        operation.run(A, B)
