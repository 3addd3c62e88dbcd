"""Every row of the table of elementwise ops: its meaning beside PyTorch's, its kernels beside its meaning, its spellings,
and that verifier, language and `irc_frontend` take the same element types. A new row is tested here without a new test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import long
from xdsl.dialects import test
from xdsl.utils.exceptions import VerifyException

import irc
import irc_frontend as ir
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects import nd
from irc.dialects.cuda import KernelOp
from irc.dialects.nd.table import ROWS, Row
from irc.driver.lowering import lower
from irc.driver.program import isolate
from irc.ir.dtypes import ELEMENTS, Element, element_named
from irc.ir.rounding import cast_array
from irc.language import parse, print_module

Array = np.ndarray[Any, Any]

OTHERS = {nd.WhereOp, nd.GeluOp, nd.LeakyReluOp}
"""Ops whose operands or parameters are of several kinds; they have tests of their own."""
PLAIN = [row for op, row in ROWS.items() if op not in OTHERS]
PYTHON: dict[str, Any] = {getattr(ir, name).__name__: getattr(ir, name) for name in ir.__all__ if name != "data"}
PYTHON["clamp"] = ir.clip
COMPUTED = "f64 f32 f16 bf16 i32 i16 u8 bool".split()
TOLERANCE = {"f64": 1e-13, "f32": 4e-6, "f16": 1e-3, "bf16": 8e-3}
FLOATS = [-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 10.0, np.inf, np.nan]
INTEGERS = [-100, -7, -3, -1, 0, 1, 2, 3, 5, 100]


def of_rows(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


def takes(row: Row, name: str) -> bool:
    return row.op.TAKES.has(element_named(name))


def call(row: Row, *operands: str) -> str:
    """The text of the op in the language."""
    if row.is_function:
        return f"{row.name}({', '.join(operands)})"
    return f" {row.symbol} ".join(operands) if len(operands) == 2 else f"{row.symbol}{operands[0]}"


def program(row: Row, elements: list[str], size: int) -> str:
    """A function of operands of each element type, and of a result for each."""
    names = [f"a{number}" for number in range(len(row.parameters))]
    arguments = ", ".join(f"{name}_{e}: {e}[{size}]" for e in elements for name in names)
    results = ", ".join(f"{'bool' if row.op.IS_TEST else e}[{size}]" for e in elements)
    values = ", ".join(call(row, *(f"{name}_{e}" for name in names)) for e in elements)
    return f"func f({arguments}) -> ({results}) {{\n    return {values}\n}}\n"


def operands(row: Row, name: str) -> list[Array]:
    """All combinations of values where a function changes."""
    element = element_named(name)
    values = FLOATS if element.is_float else [0, 1] if element.kind == "bool" else INTEGERS
    points = np.array([value for value in values if element.is_float or value >= 0 or name != "u8"], np.float64)
    grid = np.meshgrid(*[points] * len(row.parameters))
    return [cast_array(axis.ravel(), element.dtype) for axis in grid]


def meaning(row: Row, element: str, arrays: list[Array]) -> Array:
    """Of floats in float64."""
    wide = [x.astype(np.float64) for x in arrays] if element in TOLERANCE else arrays
    with np.errstate(all="ignore"):
        return np.asarray(row.numpy(*wide))


@long(2)
@pytest.mark.parametrize("target", ["interpret", "cpu", "sim"])
@of_rows(PLAIN)
def test_kernels_compute_what_a_row_means(row: Row, target: str) -> None:
    elements = [name for name in COMPUTED if takes(row, name)]
    arrays = {name: operands(row, name) for name in elements}
    sizes = {len(arrays[name][0]) for name in elements}
    for size in sizes:
        alike = [name for name in elements if len(arrays[name][0]) == size]
        exe = irc.compile(program(row, alike, size), target=target, arch="sm_90a")
        results = exe(*(x for name in alike for x in arrays[name]))
        for name, result in zip(alike, results if len(alike) > 1 else [results], strict=True):
            check(row, name, np.asarray(result), meaning(row, name, arrays[name]))


def check(row: Row, name: str, found: Array, wanted: Array) -> None:
    if row.op.IS_TEST or name not in TOLERANCE:
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        return
    with np.errstate(over="ignore"):
        wanted = cast_array(wanted, found.dtype).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wanted, TOLERANCE[name], 1e-6, err_msg=name)


@long(3)
@of_rows([row for row in PLAIN if takes(row, "f32")])
def test_machine_code_of_a_row(row: Row) -> None:
    for op in lower(isolate(parse(program(row, ["f32", "bf16"], 1000))), "all", arch="sm_90a").ops:
        if isinstance(op, KernelOp):
            assert compile_source(print_kernels([op]), "sm_90a", name=op.sym_name.data).cubin


@of_rows(PLAIN)
def test_the_language_says_a_row_and_reads_it_again(row: Row) -> None:
    elements = [name for name in ("f32", "i32", "bool") if takes(row, name)]
    module = parse(program(row, elements, 4))
    assert [type(op) for op in module.walk() if isinstance(op, nd.NdOp)] == [row.op] * len(elements)
    assert parse(print_module(module)).is_structurally_equivalent(module)


COMPOSED = ("isnan", "isinf", "round", "logical_not")
"""What the frontend, as numpy, computes of all elements: by other ops where a row does not take them."""


@of_rows(PLAIN)
def test_verifier_language_and_frontend_take_the_same_elements(row: Row) -> None:
    for element in ELEMENTS:
        wanted = row.op.TAKES.has(element)
        recorded = wanted or row.name in COMPOSED
        found = [verifies(row, element), is_parsed(row, element), is_recorded(row, element)]
        assert found == [wanted, wanted, recorded], element.name


def verifies(row: Row, element: Element) -> bool:
    values = [test.TestOp(result_types=[nd.tensor([4], element)]).results[0] for _ in row.parameters]
    build: Any = row.op
    try:
        build(*values).verify()
    except VerifyException:
        return False
    return True


def is_parsed(row: Row, element: Element) -> bool:
    try:
        parse(program(row, [element.name], 4))
    except irc.IrcError:
        return False
    return True


def is_recorded(row: Row, element: Element) -> bool:
    x = ir.zeros((4,), element.name)
    others: list[Any] = [2 if row.op is nd.PowOp and element.is_integer else x] * (len(row.parameters) - 1)
    try:
        result = PYTHON[row.name](x, *others)
    except irc.IrcError:
        return False
    assert result.element == ("bool" if row.op.IS_TEST else element.name)
    return True


def test_every_row_has_a_function_in_python() -> None:
    assert {row.name for row in ROWS.values()} <= PYTHON.keys()


@of_rows(list(ROWS.values()))
def test_what_carries_floats_has_a_gradient(row: Row) -> None:
    assert row.carries_floats == (row.gradient is not None)


TORCH = [row for row in PLAIN if row.aten]


@of_rows(TORCH)
def test_a_row_means_what_torch_means(row: Row) -> None:
    torch: Any = pytest.importorskip("torch")
    name = "f64" if takes(row, "f64") else "i32"
    arrays = operands(row, name)
    wanted = getattr(torch.ops.aten, row.aten)(*map(torch.from_numpy, arrays)).numpy()
    np.testing.assert_allclose(meaning(row, name, arrays), wanted, 1e-14, 1e-15)


def computes(row: Row, arrays: list[Any]) -> bool:
    """Whether torch has the op for the arrays' type."""
    import torch

    try:
        getattr(torch.ops.aten, row.aten)(*arrays[: len(row.parameters)])
    except NotImplementedError:
        return False
    return True


@pytest.mark.parametrize("type", ["float", "int"])
def test_torch_compiles_the_rows(type: str) -> None:
    """All that torch has of the type in one function; it gives integers to functions of floats as f32."""
    torch: Any = pytest.importorskip("torch")
    from irc_frontend.torch.rules import RULES

    points = np.meshgrid(*[[-3, -2, -1, 1, 2, 5]] * 2)
    arrays = [torch.tensor(axis.ravel(), dtype=torch.int32 if type == "int" else torch.float32) for axis in points]
    rows = [row for row in TORCH if computes(row, arrays)]
    packets = [(getattr(torch.ops.aten, row.aten), len(row.parameters)) for row in rows]
    overloads = [next(getattr(p, n) for n in ("Tensor", "default") if n in p.overloads()) for p, _ in packets]
    assert all(overload in RULES for overload in overloads)

    def functions(*arrays: Any) -> list[Any]:
        return [packet(*arrays[:count]) for packet, count in packets]

    for row, found, wanted in zip(
        rows, torch.compile(functions, backend="irc")(*arrays), functions(*arrays), strict=True
    ):
        torch.testing.assert_close(found, wanted, rtol=4e-6, atol=1e-6, equal_nan=True, msg=row.name)


def test_hypot_neither_overflows_nor_underflows() -> None:
    x, y = (
        np.array([3e30, 3e-30, 0, -5, np.nan, np.nan], np.float32),
        np.array([-4e30, 4e-30, 0, 0, -np.inf, 1], np.float32),
    )
    found = irc.compile("func f(x: f32[6], y: f32[6]) -> f32[6] {\n    return hypot(x, y)\n}\n", "sim")(x, y)
    np.testing.assert_allclose(found, [5e30, 5e-30, 0, 5, np.inf, np.nan], 1e-6)


def test_the_gradient_of_hypot_is_that_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    x, y = np.array([0, 3, 3e30, -2], np.float32), np.array([0, -4, 4e30, 0], np.float32)
    leaves = [torch.tensor(each, requires_grad=True) for each in (x, y)]
    torch.hypot(*leaves).sum().backward()
    found = ir.grad(lambda pair: ir.hypot(*pair).sum())((x, y))
    for g, leaf in zip(found, leaves, strict=True):
        np.testing.assert_allclose(g.numpy(), leaf.grad.numpy(), 1e-6)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_softplus_is_accurate_where_a_part_of_it_overflows(target: str) -> None:
    x = np.array([-85, -50, -20, 0, 20, 80, 100, 3e38, np.inf, -np.inf, np.nan], np.float32)
    text = "func f(x: f32[11]) -> f32[11] {\n    return softplus(x)\n}\n"
    wide = x.astype(np.float64)
    wanted = np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide)))
    np.testing.assert_allclose(irc.compile(text, target)(x), wanted, 1e-6, 0)


def test_softplus_and_its_gradient_are_those_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.linspace(-30, 30, 61, requires_grad=True)
    found = torch.compile(torch.nn.functional.softplus, backend="irc")(x)
    wanted = torch.nn.functional.softplus(x)
    (gradient,) = torch.autograd.grad(wanted.sum(), x)
    torch.testing.assert_close(found, wanted)
    values = ir.Tensor(x.detach().numpy())
    np.testing.assert_allclose(ir.softplus(values).numpy(), wanted.detach().numpy(), 1e-6)
    np.testing.assert_allclose(ir.grad(lambda x: ir.softplus(x).sum())(values).numpy(), gradient.numpy(), 1e-6)
