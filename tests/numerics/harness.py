"""The validation harness: a pass is right when the module means the same before and after it.

`check_pass` runs one pass on a module and compares what the module gave before with what it gives after, by the interpreters. What is
compared depends on where the pass stands with respect to `widen-arithmetic`:

- above it the yardstick is float64 (and f32 with unrounded narrow values), rounded only where the program asks for it;
- `widen-arithmetic` itself takes that meaning (`excess`) to the letter of the IR (`program`); with `strict-rounding` the letter before
  it to the letter after it;
- below it both sides are the letter of the IR, equal up to reassociation.

Errors are relative to the largest value of a result, as those of `irc-run --check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnknownLoc
from xdsl.passes import ModulePass

import irc
from irc.driver.program import isolate, parse
from irc.interpreters.nd import interpreter as nd
from irc.ir.dtypes import Element, element_of
from irc.ir.rounding import cast_array

Array = np.ndarray[Any, Any]

TOLERANCES = {"f64": 1e-10, "f32": 2e-5, "f16": 4e-3, "bf16": 2e-2, "f8e4m3": 0.15, "f8e5m2": 0.3}
"""Of the largest value of a result, for each declared element type. Integers and bool are exact."""

CONSTANTS = 2e-6
"""In float64, where nothing rounds: the error of the f32 constants that decompositions bring."""

SMALLEST = 0.1
"""A result whose largest value is below this is compared as if that were it: it is left over from terms of about 1."""


def draw_arguments(module: ModuleOp, seed: int = 0) -> list[Array]:
    """Arrays for the last function: floats normal, integers from 0 to 9, bool even."""
    rng = np.random.default_rng(seed)
    return [_draw(rng, argument.type) for argument in nd.entry(module).body.block.args]


def _draw(rng: np.random.Generator, type: Any) -> Array:
    assert isinstance(type, TensorType)
    shape, element = type.get_shape(), element_of(type)
    if element.is_float:
        return cast_array(rng.standard_normal(shape), element.dtype)
    return rng.integers(0, 2 if element.kind == "bool" else 10, shape).astype(element.dtype)


def result_elements(module: ModuleOp) -> list[Element]:
    """The declared element types of the last function's results."""
    return [element_of(type) for type in nd.entry(module).function_type.outputs]


def float_sizes(module: ModuleOp) -> set[int]:
    """The sizes in bytes of the float types of the module's values."""
    types = {result.type for op in module.walk() for result in op.results}
    types |= {argument.type for argument in nd.entry(module).body.block.args}
    elements = [element_of(type) for type in types if isinstance(type, TensorType)]
    return {element.size for element in elements if element.is_float}


def tolerances(module: ModuleOp) -> dict[str, float]:
    """Of results by element type: an f64 that may come from narrower floats is no better than f32."""
    return TOLERANCES if float_sizes(module) <= {8} else {**TOLERANCES, "f64": TOLERANCES["f32"]}


def float64_tolerances(module: ModuleOp) -> dict[str, float]:
    """For evaluation in float64: tight where no narrow value rounds, the tightest in a module of f64 alone."""
    if min(float_sizes(module), default=8) < 4:
        return tolerances(module)
    return {**tolerances(module), "f32": CONSTANTS}


@dataclass(frozen=True)
class Comparison:
    """What a pass has to keep: the meaning of the module in `before`, found in the result read in `after`."""

    before: nd.Precision
    after: nd.Precision
    tolerances: dict[str, float]


def comparisons(module: ModuleOp, each: ModulePass, *, widened: bool) -> list[Comparison]:
    """How the pass is judged; `widened` says whether `widen-arithmetic` has run."""
    limits = tolerances(module)
    if each.name == "widen-arithmetic":
        strict = bool(getattr(each, "strict_rounding", False))
        return [Comparison("program" if strict else "excess", "program", limits)]
    if widened:
        return [Comparison("program", "program", limits)]
    return [Comparison("float64", "float64", float64_tolerances(module)), Comparison("excess", "excess", limits)]


def check_pass(
    module: ModuleOp, each: ModulePass, args: Sequence[Array], context: Context, *, widened: bool = False
) -> None:
    """Runs the pass on the module, in place; AssertionError where the module is invalid, means something else, or lost a location."""
    judged = comparisons(module, each, widened=widened)
    before = [nd.evaluate(module, args, precision=judge.before) for judge in judged]
    had_locations = not _without_location(module)
    text = str(module)
    each.apply(context, module)
    try:
        module.verify()
        for judge, expected in zip(judged, before, strict=True):
            found = nd.evaluate(module, args, precision=judge.after)
            for index, (a, b, element) in enumerate(zip(expected, found, result_elements(module), strict=True)):
                assert_close(a, b, element, judge.tolerances, f"result {index} ({judge.before}, {judge.after})")
        assert not (had_locations and _without_location(module)), f"ops without a location: {_without_location(module)}"
    except Exception as error:
        raise AssertionError(f"{each.name}: {error}\nbefore:\n{text}\nafter:\n{module}") from error


def check_passes(module: ModuleOp, passes: Sequence[ModulePass], context: Context, seed: int = 0) -> None:
    """`check_pass` for each pass in turn, on a copy of the module."""
    copy, args = module.clone(), draw_arguments(module, seed)
    widened = False
    for each in passes:
        check_pass(copy, each, args, context, widened=widened)
        widened = widened or each.name == "widen-arithmetic"


def check_kernels(text: str, seed: int = 0, arch: str | None = "sm_90a", noise: Sequence[float] | None = None) -> None:
    """Runs the program's kernels on the simulator, or, where `arch` is None, as machine code of this CPU; AssertionError where they are off
    the float64 reference. `noise`: how far each result may be off, where its element type does not say that."""
    target = "cpu" if arch is None else "sim"
    module = isolate(parse(text, "drawn.irc"))
    arrays, elements, limits = draw_arguments(module, seed), result_elements(module), tolerances(module)
    with np.errstate(all="ignore"):
        expected = nd.evaluate(module, arrays, precision="float64")
        found = irc.compile(text, target=target, arch=arch)(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for index, (a, b, element) in enumerate(zip(expected, found, elements, strict=True)):
        if noise is not None:
            limits = {element.name: noise[index]}
        assert_close(a, b, element, limits, f"result {index} of\n{text}")


def assert_close(expected: Array, found: Array, element: Element, tolerances: dict[str, float], what: str) -> None:
    """Equal integers; floats with NaN and infinities at the same places and errors within the tolerance of the largest value."""
    assert expected.shape == found.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if not element.is_float:
        assert np.array_equal(expected, found), f"{what}: {_first_difference(expected, found)}"
        return
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    assert np.array_equal(a[~finite], b[~finite], equal_nan=True), f"{what}: different NaN or infinities"
    largest = float(np.abs(a[finite]).max(initial=0.0))
    error = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    limit = tolerances[element.name] * max(largest, SMALLEST)
    assert error <= limit, f"{what}: error {error:.3g} of {largest:.3g}, at most {limit:.3g}"


def _first_difference(expected: Array, found: Array) -> str:
    index = tuple(int(i[0]) for i in np.nonzero(expected != found))
    return f"{found[index]} at {index}, expected {expected[index]}"


def _without_location(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op is not module and isinstance(op.location, UnknownLoc)]
