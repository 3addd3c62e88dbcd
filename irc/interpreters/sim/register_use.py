"""Registers that wgmma uses: they belong to it from when it is issued until a wait covers its group (PTX ISA,
9.7.15.7.1 wgmma.fence, 9.7.15.7.3 wgmma.wait_group)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.clocks import WARP
from irc.interpreters.sim.memory import Array

if TYPE_CHECKING:
    from irc.interpreters.sim.memory import RegisterArray
    from irc.interpreters.sim.products import Products
    from irc.interpreters.sim.strands import Strand


def register_index(s: Strand, op: Operation, array: RegisterArray, index: Any, count: int = 1) -> int:
    """The number of the first of `count` registers that the active lanes access."""
    at = s.uniform(op, "a register's index", index)
    if not 0 <= at <= len(array.data) - count:
        what = f"element {at}" if count == 1 else f"elements {at} to {at + count - 1}"
        s.fail("out of bounds", op, f"{op.name} of {what} of {len(array.data)} registers")
    if array.use is not None:
        array.use.touch(s, op, at, count)
    return at


class RegisterUse:
    """Who used the elements of one array last: arrays of elements x warps of the frame."""

    def __init__(self, count: int, products: Products):
        warps = len(products.fences)
        self._products = products
        self._touched: Array = np.full((count, warps), -1)
        """The warp's number of wgmma_fences when a thread accessed the element."""
        self._is_loose: Array = np.zeros((count, warps), np.bool_)
        """Whether a thread accessed it since the warp's last registers_fence of the array."""
        self._owner: Array = np.zeros((count, warps), np.int64)
        """One more than the group of the last wgmma that uses it."""
        self._fenced: Array = np.zeros(warps, np.int64)
        """The warp's complete groups at its last registers_fence."""

    def touch(self, s: Strand, op: Operation, first: int, count: int) -> None:
        """The active lanes access elements: an error where a wgmma may still use them."""
        warps = np.unique(s.numbers // WARP)
        rows = slice(first, first + count)
        owners = self._owner[rows, warps]
        complete = self._products.groups.complete[warps]
        if (owners > complete).any():
            self._fail(s, op, warps[(owners > complete).any(axis=0)], "accesses registers that a wgmma in flight uses")
        if (owners > self._fenced[warps]).any():
            text = "accesses registers of a wgmma with no cuda.registers_fence of them after the wait"
            self._fail(s, op, warps[(owners > self._fenced[warps]).any(axis=0)], text)
        self._touched[rows, warps] = self._products.fences[warps]
        self._is_loose[rows, warps] = True

    def issue(self, s: Strand, op: Operation, warps: Array, first: int, count: int) -> None:
        """A wgmma uses elements: an error where accesses of threads before are not fenced."""
        rows = slice(first, first + count)
        fences = self._products.fences[warps]
        if (wrong := (self._touched[rows, warps] >= fences).any(axis=0) | (fences == 0)).any():
            self._fail(s, op, warps[wrong], "uses registers that threads have accessed since the last cuda.wgmma_fence")
        if (wrong := self._is_loose[rows, warps].any(axis=0)).any():
            text = "uses registers with no cuda.registers_fence of them since threads accessed them"
            self._fail(s, op, warps[wrong], text)
        self._owner[rows, warps] = self._products.groups.committed[warps] + 1

    def fence(self, warps: Array) -> None:
        """registers_fence by these warps."""
        self._is_loose[:, warps] = False
        self._fenced[warps] = self._products.groups.complete[warps]

    def _fail(self, s: Strand, op: Operation, warps: Array, text: str) -> None:
        s.fail("race", op, f"{op.name} {text}", np.isin(s.numbers // WARP, warps))
