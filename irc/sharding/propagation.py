"""How each value of a function is divided: what the user says of some, propagated to the others until nothing changes.

An op passes on, in both directions, how its arrays are divided along its factors. What the user said stays as it is.
Ops that compute or move each element by itself come first, so that they decide where others disagree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from irc.dialects.nd.base import shape_of
from irc.ir.iteration import Pattern, pattern_of
from irc.ir.mesh import argument_shardings, shardings_of
from irc.ir.rewriting import location_of
from irc.sharding.rules import Axes, Division, divided, rule_of
from irc.support.diagnostics import IrcError
from irc.support.mesh import Mesh, Sharding

PASSING = frozenset({Pattern.ELEMENTWISE, Pattern.MOVE})
"""Patterns of ops that come first."""


class Shardings:
    """Of all values of a function. Those of returned values are what the `func.return` says, if it says something."""

    def __init__(self, function: FuncOp, mesh: Mesh):
        self.mesh = mesh
        *self.ops, terminator = function.body.block.ops
        assert isinstance(terminator, ReturnOp)
        self._rules = {op: rule_of(op) for op in self.ops}
        self._of: dict[SSAValue, Sharding] = {}
        self._fixed: set[SSAValue] = set()
        self._start(function, terminator)

    def __getitem__(self, value: SSAValue) -> Sharding:
        return self._of.get(value, ((),) * len(shape_of(value)))

    def division(self, op: Operation) -> Division:
        """How an op is divided, as its arrays are now."""
        known = [self[value] for value in (*op.operands, *op.results)]
        return divided(op, self._rules[op], known, self.mesh)

    def _start(self, function: FuncOp, terminator: ReturnOp) -> None:
        """Takes what is said of arguments, results of ops and returned values. IrcError where it cannot be."""
        block = function.body.block
        for number, (value, said) in enumerate(zip(block.args, argument_shardings(function), strict=True)):
            if said is not None:
                name = value.name_hint or f"argument {number}"
                self._fix(value, said, f"{function.sym_name.data}: {name}", function)
        for op in self.ops:
            for value, said in zip(op.results, shardings_of(op, len(op.results)), strict=True):
                if said is not None:
                    self._fix(value, said, op.name, op)
        returned = terminator.operands
        for number, (value, said) in enumerate(zip(returned, shardings_of(terminator, len(returned)), strict=True)):
            if said is not None and value not in self._fixed:
                self._fix(value, said, f"{function.sym_name.data}: result {number}", function)

    def _fix(self, value: SSAValue, sharding: Sharding, what: str, op: Operation) -> None:
        try:
            self.mesh.check(sharding, shape_of(value), what)
        except IrcError as error:
            error.location = error.location or location_of(op)
            raise
        self._of[value] = sharding
        self._fixed.add(value)

    def propagate(self) -> None:
        """Until nothing changes: ops that pass elements on first, then all."""
        self._until_fixed(lambda op: pattern_of(op) in PASSING)
        self._until_fixed(lambda op: True)

    def _until_fixed(self, among: Callable[[Operation], bool]) -> None:
        waiting = deque(op for op in self.ops if among(op))
        queued = set(waiting)
        while waiting:
            op = waiting.popleft()
            queued.discard(op)
            for value in self._passed_on(op):
                near = [*(use.operation for use in value.uses), value.owner]
                for each in near:
                    if isinstance(each, Operation) and each in self._rules and among(each) and each not in queued:
                        queued.add(each)
                        waiting.append(each)

    def _passed_on(self, op: Operation) -> list[SSAValue]:
        """Gives the op's arrays what it passes on; those that changed."""
        division, rule = self.division(op), self._rules[op]
        changed: list[SSAValue] = []
        for dims, value in (*zip(rule.operands, op.operands, strict=True), *zip(rule.results, op.results, strict=True)):
            if value in self._fixed:
                continue
            known = self[value]
            found = self._joined(known, division.sharding(dims), shape_of(value))
            if found != known:
                self._of[value] = found
                changed.append(value)
        return changed

    def _joined(self, known: Sharding, wanted: Sharding, shape: tuple[int, ...]) -> Sharding:
        """What is known, divided further as is wanted where that fits."""
        found: list[Axes] = list(known)
        for axis, axes in enumerate(wanted):
            if axes[: len(known[axis])] != known[axis]:
                continue
            for each in axes[len(known[axis]) :]:
                if any(each in others for others in found) or shape[axis] % self.mesh.count([*found[axis], each]):
                    break
                found[axis] = (*found[axis], each)
        return tuple(found)
