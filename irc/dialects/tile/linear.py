"""Linear values: begun by one op and ended by another, once on every path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects.tile.channel import carried_from, origin_of
from irc.dialects.tile.control import PartitionsOp
from irc.ir.blocks import end_of
from irc.ir.verification import NestedVerifyException


@dataclass(frozen=True)
class Linear:
    """The values of `type` that ops of the type `begin` take from `origin`, and ops of the type `end` end. At most
    `most` are held at a time, and they end in the order in which they began.

    noun, holder, ended: how messages name a value, its origin, and what becomes of it.
    """

    origin: SSAValue
    type: Attribute
    begin: type[Operation]
    end: type[Operation]
    most: int
    noun: str
    holder: str
    ended: str

    def verify(self, block: Block) -> None:
        """Raises where a value that a block begins is not ended once on every path, or out of order."""
        if held := self._after(block, []):
            raise NestedVerifyException(self._begun(held[0]), f"the {self.noun} is never {self.ended}")

    def _begun(self, value: SSAValue) -> Operation:
        """The op that began a value, through the loops that carry it."""
        return value.owner if isinstance(value.owner, self.begin) else self._begun(carried_from(value)[1])

    def _after(self, block: Block, held: Sequence[SSAValue]) -> list[SSAValue]:
        """The values that are held at the end of a block, the oldest first."""
        now = list(held)
        for op in block.ops:
            if isinstance(op, self.begin) and op.operands[0] is self.origin:
                now.append(next(result for result in op.results if result.type == self.type))
                if len(now) > self.most:
                    message = f"would hold {len(now)} {self.noun}s of {self.holder} that has {self.most}"
                    raise NestedVerifyException(op, message)
            elif isinstance(op, self.end) and self._is_own(op.operands[0]):
                if not now or now.pop(0) is not op.operands[0]:
                    raise NestedVerifyException(op, f"expected the oldest of the {self.noun}s that are held")
            elif isinstance(op, scf.ForOp):
                now = self._after_loop(op, now)
            elif not isinstance(op, PartitionsOp):
                for region in op.regions:
                    if any(self._after(inner, now) != now for inner in region.blocks):
                        raise NestedVerifyException(op, f"only some paths have {self.ended} the {self.noun}")
        return now

    def _after_loop(self, loop: scf.ForOp, held: list[SSAValue]) -> list[SSAValue]:
        block = loop.body.block
        last = end_of(block)
        own = [at for at, argument in enumerate(block.args[1:]) if self._is_own(argument)]
        into = {loop.iter_args[at]: block.args[1 + at] for at in own}
        inside = [into.get(value, value) for value in held]
        inside += [argument for argument in into.values() if argument not in inside]
        back = {last.operands[at]: block.args[1 + at] for at in own}
        if [back.get(value, value) for value in self._after(block, inside)] != inside:
            message = f"an iteration ends with other {self.noun}s held than it begins with"
            raise NestedVerifyException(loop, message)
        out: dict[SSAValue, SSAValue] = {block.args[1 + at]: loop.results[at] for at in own}
        return [out.get(value, value) for value in inside]

    def _is_own(self, value: SSAValue) -> bool:
        return value.type == self.type and origin_of(value, self.begin) is self.origin
