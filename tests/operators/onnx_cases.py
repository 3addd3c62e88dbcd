"""The node tests of the package onnx: one operator each, with inputs and what it gives, run through irc."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

import irc_frontend as ir
from irc.runtime.artifact import ELEMENT_NAMES
from irc.support.diagnostics import IrcError
from irc_frontend.onnx import load

SHAPES = "constant"
"""How a test passed whose operands that decide shapes were made constants of the model."""


@dataclass(frozen=True)
class Judged:
    """What became of a node test. verdict: `irc`, `constant`, `wrong`, `type` (irc does not have an element type of its),
    `shape` (its shapes are not static), `refused` (an operator or a case that irc does not have), `failed`."""

    name: str
    operator: str
    verdict: str
    reason: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict in ("irc", SHAPES)


@cache
def cases() -> dict[str, Any]:
    """All tests that have no effect of chance, by name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return {each.name: each for each in found}


def operator_of(case: Any) -> str:
    """The operator of a test; of one whose function was expanded, that which its name says."""
    nodes = case.model.graph.node
    if not case.name.endswith("_expanded") and "_expanded_ver" not in case.name:
        return nodes[-1].op_type if len(nodes) == 1 else next(iter(case.model.graph.node)).op_type
    whole = cases().get(re.sub(r"_expanded(_ver\d+)?$", "", case.name))
    return operator_of(whole) if whole is not None else nodes[-1].op_type


def judge(case: Any, target: str) -> Judged:
    """Runs a test."""
    operator = operator_of(case)
    try:
        verdict = _verdict(case, target)
    except IrcError as error:
        return Judged(case.name, operator, _kind(error.message), error.message)
    except Exception as error:
        return Judged(case.name, operator, "failed", f"{type(error).__name__}: {error}".splitlines()[0])
    wrong = verdict not in ("irc", SHAPES)
    return Judged(case.name, operator, "wrong" if wrong else verdict, verdict if wrong else "")


def _kind(message: str) -> str:
    if "no element type" in message:
        return "type"
    return "shape" if "depends on an input of the program" in message or "not an array" in message else "refused"


def _verdict(case: Any, target: str) -> str:
    """Tries it with more and more operands as constants of the model: those that decide shapes are none of a call."""
    inputs, expected = ([_array(each) for each in side] for side in case.data_sets[0])
    attempts = list(_constants(inputs))
    for number, constants in enumerate(attempts):
        try:
            _run(case, inputs, expected, constants, target)
        except _Wrong as error:
            return str(error)
        except IrcError as error:
            if number + 1 < len(attempts) and _kind(error.message) == "shape" and "not an array" not in error.message:
                continue
            raise
        return SHAPES if number else "irc"
    raise AssertionError("no attempt was made")


def _constants(inputs: Sequence[Any]) -> Iterator[set[int]]:
    """Which inputs are constants: none; integers and single numbers behind the first; all behind it; all."""
    yield set()
    arrays = [np.asarray(each) if isinstance(each, np.ndarray | np.generic) else None for each in inputs]
    behind = range(1, len(inputs))
    few = {n for n in behind if (x := arrays[n]) is not None and (x.dtype.kind in "iub" or x.size == 1)}
    yield from (few, set(behind), set(range(len(inputs))))


class _Wrong(Exception):
    """A result is not what the test expects."""


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _run(case: Any, inputs: Sequence[Any], expected: Sequence[Any], constants: set[int], target: str) -> None:
    model = _with_constants(case.model, inputs, constants)
    with ir.target(target), np.errstate(all="ignore"):
        program = load(model)
        given = [np.asarray(each) for number, each in enumerate(inputs) if number not in constants and each is not None]
        found = program(*given)
    results = found if isinstance(found, tuple) else (found,)
    for number, (result, want) in enumerate(zip(results, expected, strict=True)):
        if reason := _difference(result, np.asarray(want), case.rtol, case.atol):
            raise _Wrong(f"result {number}: {reason}")


def _with_constants(model: Any, inputs: Sequence[Any], constants: set[int]) -> Any:
    """The model with shapes of the arrays that are given, and some of them as its own."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    arrays = {value.name: array for value, array in zip(model.graph.input, inputs, strict=False)}
    taken = [value.name for number, value in enumerate(model.graph.input) if number in constants]
    del found.graph.input[:]
    for value in model.graph.input:
        if value.name in taken:
            found.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(arrays[value.name]), value.name))
            continue
        found.graph.input.append(value)
        if value.type.HasField("tensor_type") and isinstance(arrays.get(value.name), np.ndarray | np.generic):
            shape = found.graph.input[-1].type.tensor_type.shape
            shape.ClearField("dim")
            for extent in np.shape(arrays[value.name]):
                shape.dim.add().dim_value = extent
    return found


def _difference(result: Any, expected: Any, rtol: float, atol: float) -> str:
    if ELEMENT_NAMES.get(result.dtype) != ELEMENT_NAMES.get(expected.dtype) or result.shape != expected.shape:
        return f"{result.dtype}{list(result.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if result.dtype.kind in "iub":
        return "" if np.array_equal(result, expected) else f"{(result != expected).sum()} elements differ"
    a, b = result.astype(np.float64), expected.astype(np.float64)
    if np.allclose(a, b, rtol, atol, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        return f"differs by {np.nanmax(np.abs(a - b)):.2e}"
