"""Reverse mode on a function of nd ops: the gradient of a scalar result with respect to arguments, as more ops.

One walk forwards finds the *active* values: floats that depend on one of the arguments through floats. One walk
backwards applies the rule of each active op (`irc/autodiff/gradients`) to the cotangent of its result, and adds up the
cotangents of each value. What a rule inserts stands before the function's return with the location of its op, so that
diagnostics and kernels of the gradient name the line that is differentiated.

A cotangent has the type of its value. Rules compute narrow floats in f32; the casts around them are deferred, so a
cotangent is rounded where it is stored or multiplied as a matrix, as any value of its declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from irc.autodiff.gradients import REFUSED, RULES
from irc.dialects import nd
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.terms import Term, deferred_cast, splat
from irc.ir.blocks import end_of
from irc.ir.discardable import DECLARED
from irc.ir.rewriting import Inserter, location_of, location_of_value, remove_dead_code
from irc.support.diagnostics import IrcError

CallRule: TypeAlias = "Callable[[CallOp, Sequence[Term | None], Inserter], Sequence[Term | None]]"
"""The gradients of a call's operands, None where there is none, for the cotangents of its results."""


def differentiate(
    function: FuncOp, wrt: Sequence[int], *, of: int = 0, values: bool = True, call_rule: CallRule | None = None
) -> None:
    """Appends to the results of the function the gradients of result `of` with respect to the arguments `wrt`, in that
    order; without `values` the function returns the gradients alone. `call_rule`: the rule of `func.call`.

    IrcError where an argument or the result cannot be differentiated, and at an op on the way that cannot.
    """
    returned = function.body.block.last_op
    assert isinstance(returned, ReturnOp)
    arguments = [_argument(function, index) for index in wrt]
    _check_float(function, arguments, wrt)
    result = _result(function, returned, of)
    gradients = gradients_of(function.body.block, result, arguments, call_rule)
    returned.operands = [*(returned.operands if values else ()), *gradients]
    function.update_function_type()
    remove_dead_code(function)


def _argument(function: FuncOp, index: int) -> SSAValue:
    arguments = function.body.block.args
    name = function.sym_name.data
    if not 0 <= index < len(arguments):
        raise IrcError(f"{name} has no argument {index}", function.location, f"it has {len(arguments)}, from 0 on")
    return arguments[index]


def _check_float(function: FuncOp, arguments: Sequence[SSAValue], wrt: Sequence[int]) -> None:
    if len(set(wrt)) != len(wrt):
        raise IrcError(f"an argument is named twice in {list(wrt)}", function.location)
    for value, index in zip(arguments, wrt, strict=True):
        if not element_of(value).is_float:
            what = value.name_hint or f"argument {index}"
            raise IrcError(
                f"cannot differentiate with respect to {what}: {_type_text(value)}",
                function.location,
                "gradients are of floats with respect to floats",
            )


def _result(function: FuncOp, returned: ReturnOp, of: int) -> SSAValue:
    name = function.sym_name.data
    if not 0 <= of < len(returned.operands):
        count = len(returned.operands)
        raise IrcError(f"{name} has no result {of}", function.location, f"it has {count}, from 0 on")
    result = returned.operands[of]
    if shape_of(result) or not element_of(result).is_float:
        raise IrcError(
            f"cannot differentiate result {of} of {name}: {_type_text(result)}",
            location_of_value(result),
            "a gradient is of one float: sum it, or multiply it by weights and sum that",
        )
    return result


def _type_text(value: SSAValue) -> str:
    return f"{element_of(value).name}[{', '.join(map(str, shape_of(value)))}]"


def gradients_of(
    block: Block, result: SSAValue, wrt: Sequence[SSAValue], call_rule: CallRule | None = None
) -> list[SSAValue]:
    """The gradients of a rank-0 `result` of the block, inserted before its terminator; zeros where it does not depend
    on an argument through floats."""
    return _Reverse(block, _active(block, wrt), call_rule).run(result, wrt)


def _active(block: Block, wrt: Sequence[SSAValue]) -> set[SSAValue]:
    active = set(wrt)
    for op in block.ops:
        if any(operand in active for operand in op.operands):
            active.update(result for result in op.results if element_of(result).is_float)
    return active


@dataclass
class _Reverse:
    """The walk backwards. `cotangents` are those of active values, added up so far."""

    block: Block
    active: set[SSAValue]
    call_rule: CallRule | None
    cotangents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def run(self, result: SSAValue, wrt: Sequence[SSAValue]) -> list[SSAValue]:
        terminator = end_of(self.block)
        forward = [op for op in self.block.ops if op is not terminator]
        if result in self.active:
            one = splat(self._at(location_of_value(result)), 1, (), element_of(result))
            self.cotangents[result] = one.value
        for op in reversed(forward):
            self._visit(op)
        return [self._gradient(value) for value in wrt]

    def _at(self, location: LocationAttr) -> Inserter:
        terminator = end_of(self.block)
        return Inserter(Builder(InsertPoint.before(terminator)), location)

    def _visit(self, op: Operation) -> None:
        at = self._at(location_of(op))
        found = [self.cotangents.pop(result, None) for result in op.results]
        if not any(found) or not any(operand in self.active for operand in op.operands):
            return
        cotangents = [None if each is None else Term(each, at) for each in found]
        for operand, term in zip(op.operands, self._gradients(op, cotangents, at), strict=True):
            if term is not None and operand in self.active:
                self._add(operand, term)

    def _gradients(self, op: Operation, cotangents: Sequence[Term | None], at: Inserter) -> Sequence[Term | None]:
        if isinstance(op, CallOp) and self.call_rule is not None:
            return self.call_rule(op, cotangents, at)
        cotangent = cotangents[0]  # of an nd op the first result alone can be an active one: others are indices
        assert cotangent is not None
        return self._apply_rule(op, cotangent)

    def _apply_rule(self, op: Operation, cotangent: Term) -> Sequence[Term | None]:
        kind = cast("type[nd.NdOp]", type(op))
        if DECLARED in op.attributes:
            raise IrcError(
                f"cannot differentiate {op.name} after widen-arithmetic", op.location, "run differentiate-nd before it"
            )
        if kind not in RULES:
            raise IrcError(f"cannot differentiate {op.name}", location_of(op), REFUSED.get(kind))
        return RULES[kind](op, cotangent)

    def _add(self, value: SSAValue, term: Term) -> None:
        term = deferred_cast(term, element_of(value))
        known = self.cotangents.get(value)
        self.cotangents[value] = term.value if known is None else (Term(known, term.at) + term).value

    def _gradient(self, value: SSAValue) -> SSAValue:
        gradient = self.cotangents.get(value)
        if gradient is None:
            gradient = splat(self._at(location_of_value(value)), 0, shape_of(value), element_of(value)).value
        if value.name_hint is not None and gradient.name_hint is None:
            gradient.name_hint = f"d_{value.name_hint}"
        return gradient
