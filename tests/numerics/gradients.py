"""Functions of nd ops for tests of gradients: built from a lambda, differentiated, compared with central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import FileLineColLoc, FunctionType, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from irc.autodiff.reverse_mode import differentiate
from irc.dialects import nd
from irc.dialects.nd.terms import Term
from irc.interpreters.nd.interpreter import entry, evaluate
from irc.ir.dtypes import element_of_dtype
from irc.ir.rewriting import Inserter

Array = np.ndarray[Any, Any]
PLACE = FileLineColLoc(StringAttr("gradient.irc"), IntAttr(1), IntAttr(1))

STEP = 1e-6
"""Of central differences, for values of about 1: they are off by 1e-12 for curvature, 1e-10 for rounding."""


@dataclass(frozen=True)
class Case:
    """An op on these arrays. `build` makes it of their values; `wrt` are the numbers of the differentiated ones, by
    default all floats."""

    arrays: Sequence[Array]
    build: Callable[..., Operation]
    wrt: Sequence[int] | None = None

    @property
    def floats(self) -> list[int]:
        if self.wrt is not None:
            return list(self.wrt)
        return [i for i, x in enumerate(self.arrays) if element_of_dtype(x.dtype).is_float]


def weighted_sum(case: Case, seed: int = 0) -> ModuleOp:
    """A function of the case's arrays: the sum of the first result of its op, each element times a random number."""
    types = [nd.tensor(x.shape, element_of_dtype(x.dtype)) for x in case.arrays]
    block = Block(arg_types=types)
    at = Inserter.at_end(block, PLACE)
    result = at(case.build(*block.args)).results[0]
    loss = total([result], at, seed)
    at(ReturnOp(loss))
    function = FuncOp("f", FunctionType.from_lists(types, [loss.type]), Region(block))
    function.location = PLACE
    module = ModuleOp([function])
    module.verify()
    return module


def total(values: Sequence[SSAValue], at: Inserter, seed: int) -> SSAValue:
    """The sum of all elements of float values, each times a random number."""
    rng = np.random.default_rng(seed)
    sums: list[Term] = []
    for value in values:
        weights = rng.uniform(0.5, 1.5, nd.shape_of(value)).astype(nd.element_of(value).dtype)
        term = Term(value, at) * Term(at.value(nd.ConstantOp.from_array(np.asarray(weights))), at)
        sums.append(term.sum(range(weights.ndim)))
    loss = sums[0]
    for term in sums[1:]:
        loss = loss + term
    return loss.value


def gradients(module: ModuleOp, args: Sequence[Array], wrt: Sequence[int]) -> tuple[Array, ...]:
    """By reverse mode, on a copy of the module."""
    copy = module.clone()
    differentiate(entry(copy), wrt, values=False)
    copy.verify()
    return evaluate(copy, args)


def differences(module: ModuleOp, args: Sequence[Array], wrt: Sequence[int]) -> tuple[Array, ...]:
    """By central differences of each element."""
    found: list[Array] = []
    for index in wrt:
        gradient = np.zeros(args[index].shape)
        for place in np.ndindex(gradient.shape):
            up, down = (moved(args, index, place, step) for step in (STEP, -STEP))
            gradient[place] = (evaluate(module, up)[0] - evaluate(module, down)[0]) / (2 * STEP)
        found.append(gradient)
    return tuple(found)


def moved(args: Sequence[Array], index: int, place: tuple[int, ...], step: float) -> list[Array]:
    """The arrays with one element of one changed."""
    copies = list(args)
    copies[index] = np.array(args[index])
    copies[index][place] += step
    return copies


def check_gradients(module: ModuleOp, args: Sequence[Array], wrt: Sequence[int]) -> None:
    """AssertionError where reverse mode and central differences disagree."""
    for index, found, expected in zip(wrt, gradients(module, args, wrt), differences(module, args, wrt), strict=True):
        assert found.shape == args[index].shape and found.dtype == args[index].dtype
        limit = 2e-7 * max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=limit, err_msg=f"argument {index} of\n{module}")


def gradient_function(module: ModuleOp, wrt: Sequence[int], seed: int = 1) -> ModuleOp:
    """The weighted sum of the gradients, as a function to be differentiated once more."""
    copy = module.clone()
    function = entry(copy)
    differentiate(function, wrt, values=False)
    block = function.body.block
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    at = Inserter(Builder(InsertPoint.before(returned)), PLACE)
    returned.operands = [total(list(returned.operands), at, seed)]
    function.update_function_type()
    copy.verify()
    return copy
