"""numpy's own functions called with Tensors, its forms of arguments and its type promotion, drawn, against numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from hypothesis import strategies as st

import irc_frontend as ir
from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError

DRAWN = np.random.default_rng(5)


pytestmark = pytest.mark.usefixtures("on_interpreter")


@pytest.fixture(autouse=True)
def quiet() -> Generator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def array(shape: Any, element: str = "f32") -> np.ndarray[Any, Any]:
    values = DRAWN.standard_normal(shape) * 3
    return (values > 0) if element == "bool" else values.astype(DTYPES[element])


def close(found: Any, wanted: Any) -> None:
    """The same shapes and elements, up to a rounding of f32; element types may be irc's own, where it has no f64."""
    assert isinstance(found, ir.Tensor)
    value, wanted = found.numpy(), np.asarray(wanted)
    assert (found.shape, value.shape) == (wanted.shape, wanted.shape)
    assert value.dtype == found.dtype
    np.testing.assert_allclose(value.astype(np.float64), wanted.astype(np.float64), rtol=2e-4, atol=2e-4)


def both(function: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> None:
    """The same of Tensors and of arrays; where numpy refuses, irc does."""
    try:
        wanted = function(*arrays)
    except (ValueError, IndexError, TypeError, np.exceptions.AxisError):
        with pytest.raises(IrcError):
            function(*map(ir.Tensor, arrays))
        return
    found = function(*map(ir.Tensor, arrays))
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
    else:
        close(found, wanted)


SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
UFUNCS = (
    "sin cos tan exp log1p sqrt tanh sinh cosh arcsin arctan absolute negative positive square reciprocal floor ceil rint "
    "sign isnan isinf isfinite logical_not radians degrees trunc signbit fabs exp2 expm1"
).split()
BINARY_UFUNCS = (
    "add subtract multiply true_divide floor_divide remainder maximum minimum arctan2 hypot less greater_equal equal "
    "not_equal logical_and logical_or logical_xor fmax fmin copysign logaddexp"
).split()


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_are_numpys(name: str) -> None:
    both(getattr(np, name), array((3, 4)))


@pytest.mark.parametrize("name", BINARY_UFUNCS)
def test_ufuncs_of_two_arrays_are_numpys(name: str) -> None:
    ufunc, x, y = getattr(np, name), array((3, 4)), array((2, 1, 4))
    both(ufunc, x, y)
    for one, other in ((ir.Tensor(x), y), (x, ir.Tensor(y)), (ir.Tensor(x), 2), (2, ir.Tensor(x))):
        wanted = ufunc(*(each.numpy() if isinstance(each, ir.Tensor) else each for each in (one, other)))
        close(ufunc(one, other), wanted)
    both(ufunc.outer, x, y)


def test_methods_and_options_of_ufuncs() -> None:
    x = array((3, 4))
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        both(ufunc.reduce, x)
        both(lambda x, ufunc=ufunc: ufunc.reduce(x, axis=(0, -1), keepdims=True), x)
    both(np.add.accumulate, x)
    both(lambda x: np.multiply.accumulate(x, axis=1), x)
    close(np.add(ir.Tensor(x), 1, dtype=np.float64), np.add(x, 1, dtype=np.float64))
    for wrong, message in (
        (lambda: np.add(ir.Tensor(x), 1, out=np.empty((3, 4))), "cannot write to out="),
        (lambda: np.add(ir.Tensor(x), 1, where=x > 0), "takes dtype=, found where="),
        (lambda: np.cbrt(ir.Tensor(x)), "irc has no numpy.cbrt"),
        (lambda: np.subtract.reduce(ir.Tensor(x)), "irc has no numpy.subtract.reduce"),
        (lambda: np.sum(ir.Tensor(x), out=np.empty(())), "unexpected keyword argument 'out'"),
    ):
        with pytest.raises(IrcError, match=message) as caught:
            wrong()
        assert __file__ in str(caught.value)


def test_functions_that_irc_does_not_have_get_values() -> None:
    x = array((3, 4))
    found = np.percentile(ir.Tensor(x), 30, axis=0)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, np.percentile(x, 30, axis=0))
    lazy = ir.exp(ir.Tensor(x))
    assert (np.shape(lazy), np.ndim(lazy), np.size(lazy), np.size(lazy, -1)) == ((3, 4), 2, 12, 4)
    assert not lazy.is_computed


@pytest.mark.parametrize(("a", "b"), list(combinations(DTYPES, 2)))
def test_types_are_promoted_as_numpy_does(a: str, b: str) -> None:
    """Or the error names two ways out, both of which work."""
    x, y = array(3, a), array(3, b)
    try:
        wanted = np.promote_types(x.dtype, y.dtype)
    except TypeError:
        wanted = None
    if wanted is not None and wanted in DTYPES.values() and (wanted != np.float64 or "f64" in (a, b)):
        found = ir.where(np.array([True, False, True]), ir.Tensor(x), y)
        assert found.dtype == wanted
        np.testing.assert_array_equal(found.numpy(), np.where([True, False, True], x.astype(wanted), y.astype(wanted)))
        return
    with pytest.raises(IrcError, match=r"\.astype\('\w+'\).*f32|f64") as caught:
        ir.add(ir.Tensor(x), y)
    assert a in caught.value.message
    assert b in caught.value.message


@pytest.mark.parametrize("number", [True, 2, 2.5])
@pytest.mark.parametrize("element", DTYPES)
def test_python_numbers_are_weak(element: str, number: float) -> None:
    x = array(4, element)
    if isinstance(number, float) and x.dtype.kind in "biu":
        with pytest.raises(IrcError, match=r"x.astype\('f32'\) stays in f32, x.astype\('f64'\) is numpy's f64"):
            ir.maximum(x, number)
        return
    wanted = np.where(True, x, number) if x.dtype.kind in "biu" else x
    assert ir.where(True, ir.Tensor(x), number).dtype == wanted.dtype
    if element != "bool":
        close(ir.Tensor(x) * number, x * np.asarray(number, x.dtype))


def test_products_joins_and_choices_promote() -> None:
    x, y = array((3, 4)), array((4, 3), "i8")
    for function in (np.matmul, np.dot, lambda a, b: np.einsum("ij,jk", a, b), lambda a, b: np.tensordot(a, b, 1)):
        both(function, x, y)
    both(lambda a, b: np.concatenate([a, b.T]), x, y)
    both(lambda a, b: np.where(a > 0, a, b.T), x, y)


@st.composite
def reductions(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    shape = draw(SHAPES)
    axes = draw(
        st.lists(st.integers(-len(shape), len(shape) - 1), max_size=len(shape), unique_by=lambda a: a % len(shape))
    )
    axis = draw(st.sampled_from([None, tuple(axes), *axes]))
    return shape, {"axis": axis, "keepdims": draw(st.booleans())}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all"])
@given(reductions())
@examples(12)
def test_reductions_are_numpys(name: str, masked: bool, drawn: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    shape, options = drawn
    if masked:
        options["where"] = DRAWN.random(shape) > 0.3
    if name in ("max", "min") and masked:
        options["initial"] = 0.5
    if name in ("var", "std"):
        options["ddof"] = int(DRAWN.integers(2))
    both(lambda x: getattr(np, name)(x, **options), array(shape))


@given(reductions())
@examples(20)
def test_other_functions_over_axes_are_numpys(drawn: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    shape, options = drawn
    x = array(shape)
    both(lambda x: np.median(x, **options), x)
    both(lambda x: np.count_nonzero(x > 0, **options), x)
    both(lambda x: np.flip(x, options["axis"]), x)
    axis = int(DRAWN.integers(-len(shape), len(shape)))
    for each in (axis, None):
        for name in ("cumsum", "cumprod", "sort", "argsort", "argmax", "argmin"):
            both(lambda x, name=name, each=each: getattr(np, name)(x, axis=each), x)
    both(lambda x: np.cumsum(x, axis, dtype=np.float64), x)


@given(SHAPES, st.data())
@examples(40)
def test_forms_of_rearrangements_are_numpys(shape: tuple[int, ...], data: st.DataObject) -> None:
    x, rank = array(shape), len(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    axes = data.draw(st.permutations(range(rank)))
    extent = shape[axis]
    both(lambda x: np.moveaxis(x, axes[:2], axes[-2:]) if rank > 2 else np.moveaxis(x, axis, 0), x)
    both(lambda x: np.moveaxis(x, axis, -1), x)
    both(lambda x: np.transpose(x, axes), x)
    both(lambda x: np.expand_dims(x, (0, -1)), x)
    both(lambda x: np.expand_dims(x, (axis, axis)), x)
    both(lambda x: np.concatenate([x, x], axis), x)
    both(lambda x: np.concatenate([x, x], None), x)
    cuts = sorted(data.draw(st.lists(st.integers(0, extent), max_size=3)))
    both(lambda x: np.split(x, cuts, axis), x)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=extent, max_size=extent))
    both(lambda x: np.repeat(x, counts, axis), x)
    both(lambda x: np.roll(x, 2, axis), x)
    both(lambda x: np.diff(x, 1, axis, prepend=0, append=x), x)


WIDTHS = st.integers(0, 5)


@given(SHAPES, st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]), st.data())
@examples(40)
def test_pads_are_numpys(shape: tuple[int, ...], mode: Any, data: st.DataObject) -> None:
    pair = st.tuples(WIDTHS, WIDTHS)
    widths = data.draw(st.one_of(WIDTHS, pair, st.lists(pair, min_size=len(shape), max_size=len(shape))))
    options: dict[str, Any] = {}
    if mode == "constant":
        options["constant_values"] = data.draw(
            st.sampled_from([2, (1, 3), [(each, -each) for each in range(len(shape))]])
        )
    both(lambda x: np.pad(x, widths, mode, **options), array(shape))


def test_forms_of_elementwise_functions_are_numpys() -> None:
    x, n = array((3, 4)), array((3, 4), "i32")
    both(lambda x: np.clip(x, None, 1), x)
    both(lambda x: np.clip(x, -1, None), x)
    both(lambda x: np.clip(x, min=-1, max=x * 0), x)
    for decimals in (0, 2, -1):
        both(lambda x, decimals=decimals: np.round(x, decimals), x)
    both(np.logical_and, x, n)
    both(lambda x: np.kron(x, x[0]), x)
    for arguments in ((5,), (1, 7, 2), (0.0, 2.0, 0.25), (3, 0, -0.5), (2, 1.0)):
        close(ir.arange(*arguments), np.arange(*arguments))


def test_methods_are_those_of_arrays() -> None:
    x = array((4, 4))
    for method in (
        lambda x: x.round(1),
        lambda x: x.take(np.array([0, 5])),
        lambda x: x.take([1, 2], axis=-1),
        lambda x: x.repeat(2, 0),
        lambda x: x.argsort(0),
        lambda x: x.diagonal(1),
        lambda x: x.trace(),
        lambda x: x.nonzero(),
        lambda x: x.clip(max=0.5),
        lambda x: x.std(ddof=1, axis=0),
        lambda x: x.swapaxes(0, -1).squeeze().ravel(),
    ):
        both(method, x)


@st.composite
def einsums(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    extents = {letter: draw(st.integers(1, 3)) for letter in "ijkl"}
    dots = draw(st.lists(st.integers(2, 3), max_size=2))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        letters = draw(st.lists(st.sampled_from("ijkl"), max_size=3))
        shown = draw(st.booleans())
        at = draw(st.integers(0, len(letters)))
        inner = [draw(st.sampled_from([1, n])) for n in dots[draw(st.integers(0, len(dots))) :]] if shown else []
        terms.append("".join(letters[:at]) + ("..." if shown else "") + "".join(letters[at:]))
        shapes.append((*(extents[x] for x in letters[:at]), *inner, *(extents[x] for x in letters[at:])))
    used = sorted(set("".join(terms)) & set("ijkl"))
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    dotted = "..." if any("..." in term for term in terms) else ""
    return ",".join(terms) + (f"->{dotted}{''.join(output)}" if draw(st.booleans()) else ""), shapes


@given(einsums())
@examples(120)
def test_einsum_is_numpys(drawn: tuple[str, list[tuple[int, ...]]]) -> None:
    subscripts, shapes = drawn
    both(lambda *arrays: np.einsum(subscripts, *arrays), *(array(shape) for shape in shapes))


def test_einsum_of_lists_of_numbers() -> None:
    both(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), array((2, 3)), array((3, 4)))
    both(lambda x: np.einsum(x, [..., 0, 0]), array((2, 3, 3)))  # pyright: ignore[reportCallIssue, reportArgumentType]
