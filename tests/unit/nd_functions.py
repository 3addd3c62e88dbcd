"""Functions of nd ops for tests: built from a lambda, evaluated, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from irc.dialects import nd
from irc.interpreters.nd.interpreter import entry, evaluate
from irc.ir.dtypes import element_of_dtype
from irc.runtime.interpreted import InterpretedProgram

BF16 = ml_dtypes.bfloat16
E4M3 = ml_dtypes.float8_e4m3fn
E5M2 = ml_dtypes.float8_e5m2
INF, NAN = float("inf"), float("nan")
INTEGERS = [np.int64, np.int32, np.int16, np.int8, np.uint8]

Body = Callable[..., Operation | Sequence[Operation]]


def module(body: Body, *arrays: np.ndarray[Any, Any]) -> ModuleOp:
    """A function of arguments like `arrays` whose ops `body` gives; it returns the results of the last op."""
    types = [nd.tensor(x.shape, element_of_dtype(x.dtype)) for x in arrays]
    block = Block(arg_types=types)
    ops = body(*block.args)
    ops = [ops] if isinstance(ops, Operation) else list(ops)
    block.add_ops(ops)
    block.add_op(ReturnOp(*ops[-1].results))
    result = FunctionType.from_lists(types, [value.type for value in ops[-1].results])
    function = ModuleOp([FuncOp("f", result, Region(block))])
    function.verify()
    return function


def run_all(body: Body, *arrays: np.ndarray[Any, Any], precision: Any = "program") -> tuple[np.ndarray[Any, Any], ...]:
    return evaluate(module(body, *arrays), arrays, precision=precision)


def run(body: Body, *arrays: np.ndarray[Any, Any], precision: Any = "program") -> np.ndarray[Any, Any]:
    """The single result; in the precision `program` also that it has the declared type, on the cpu target too."""
    program = module(body, *arrays)
    (result,) = evaluate(program, arrays, precision=precision)
    (type,) = entry(program).function_type.outputs
    assert result.shape == nd.shape_of(type)
    if precision == "program":
        assert result.dtype == nd.element_of(type).dtype
        (on_cpu,) = InterpretedProgram(program)(arrays)
        assert on_cpu.dtype == result.dtype and on_cpu.shape == result.shape
        assert on_cpu.flags.writeable and on_cpu.flags.c_contiguous
    return result


def same(found: np.ndarray[Any, Any], expected: Any) -> None:
    """Equal in every element, NaN to NaN."""
    np.testing.assert_array_equal(np.asarray(found, _plain(found)), np.asarray(expected, _plain(found)))


def _plain(x: np.ndarray[Any, Any]) -> Any:
    return np.float64 if element_of_dtype(x.dtype).is_float else x.dtype


def array(values: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.array(values, dtype)


def random(shape: Sequence[int], dtype: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def wrapped(value: int, dtype: Any) -> int:
    """An integer modulo the width of a dtype."""
    return int(np.array(value % 2**64, np.uint64).astype(dtype))
