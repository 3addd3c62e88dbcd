"""Checks of scalar bodies, and locations of new ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Region
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.control import YieldOp


def verify_body(body: Region, arguments: Sequence[Attribute], yields: Sequence[Attribute]) -> None:
    found = [a.type for a in body.block.args]
    if found != list(arguments):
        raise VerifyException(f"expected body arguments {[str(t) for t in arguments]}, found {[str(t) for t in found]}")
    last = body.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"expected a body that ends in tile.yield, found {last.name if last else 'nothing'}")
    types = [v.type for v in last.arguments]
    if types != list(yields):
        raise VerifyException(f"expected the body to yield {[str(t) for t in yields]}, found {[str(t) for t in types]}")
