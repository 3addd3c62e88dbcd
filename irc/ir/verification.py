"""Verifying IR with diagnostics that name the op and quote its line."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, Region
from xdsl.utils.exceptions import VerifyException

from irc.ir.blocks import ops_in
from irc.ir.discardable import first_fault
from irc.ir.dominance import first_early_use
from irc.ir.properties import constant_of
from irc.support.diagnostics import InternalError, IrcError


class NestedVerifyException(VerifyException):
    """What a verifier finds about `op`, an op that is nested in the one that it verifies."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def verify(op: Operation, *, after: str = "") -> None:
    """Verifies an op and all that is nested in it, discardable attributes too; the first fault is an `IrcError` at its
    op.

    `after` names the pass that ran last: what it left invalid is its fault, an `InternalError` that says so.
    """
    check_order(op, after=after)
    try:
        op.verify()
    except Exception as error:
        raise _diagnostic(op, error, after) from error
    _check_steps(op, after)
    if (fault := first_fault(op)) is not None:
        culprit, error = fault
        raise _error_after(after, error.message, _location(culprit), error.hint)


def check_order(op: Operation, *, after: str = "") -> None:
    """IrcError where an op nested in `op` uses a value before it is defined; `after` as in `verify`."""
    if (early := first_early_use(op)) is None:
        return
    user, operand = early
    raise _error_after(
        after,
        f"'{user.name}': operand {operand} is used before it is defined",
        _location(user),
        "a value is defined before the ops that use it, in their region or in one around it",
    )


def _check_steps(op: Operation, after: str) -> None:
    """IrcError where a loop would never end, or go backwards: xDSL's verifier lets a step be any number."""
    for loop in ops_in(op):
        if isinstance(loop, ForOp) and (step := constant_of(loop.step)) is not None and step < 1:
            raise _error_after(after, f"'{loop.name}': expected a step of 1 or more, found {step}", _location(loop))


def _error_after(after: str, message: str, place: LocationAttr | None, hint: str | None = None) -> IrcError:
    """The diagnostic of a fault; where a pass ran before, it is an error in irc."""
    return InternalError(f"after pass '{after}': {message}", place, hint) if after else IrcError(message, place, hint)


def _diagnostic(root: Operation, error: Exception, after: str) -> IrcError:
    culprit = error.op if isinstance(error, NestedVerifyException) else _culprit(root, str(error))
    message = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, VerifyException):
        message = f"{type(error).__name__}: {message}"
    name = "" if culprit is None else f"'{culprit.name}': "
    return _error_after(after, f"{name}{message}", None if culprit is None else _location(culprit))


def _culprit(root: Operation, message: str) -> Operation | None:
    """The op whose own check fails with this message; else the first whose own check fails."""
    first: Operation | None = None
    for op in root.walk():
        try:
            op.verify(verify_nested_ops=False)
        except Exception as error:
            if str(error) == message:
                return op
            first = first or op
        if message.startswith(f"Operation {op.name} contains empty block") and any(_is_empty(r) for r in op.regions):
            return op
    return first


def _is_empty(region: Region) -> bool:
    return len(region.blocks) == 1 and region.block.is_empty


def _location(op: Operation) -> LocationAttr | None:
    current: Operation | None = op
    while current is not None and isinstance(current.location, UnknownLoc):
        current = current.parent_op()
    return None if current is None else current.location
