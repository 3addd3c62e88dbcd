"""Rewriting of IR: a greedy driver that keeps locations and always ends, and helpers that build ops with a location.

`rewrite` runs xDSL's worklist driver over everything nested in an op. It adds what xDSL 0.74 leaves out: new ops get
the location of the op that the pattern matched, patterns that undo each other end in an `IrcError` instead of a hang,
and an exception of a pattern reaches the caller as it is, not as a dump of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, IndexType, IntegerAttr, LocationAttr, NoneAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from irc.ir.blocks import ops_in
from irc.support.diagnostics import IrcError

OperationT = TypeVar("OperationT", bound=Operation)

DEFAULT_LIMIT = 64
"""Rewrites for each op of the program before `rewrite` gives up. Lowerings need a handful."""

MIN_BUDGET = 4096
"""Rewrites that even a tiny program may take: one op can stand for a long decomposition."""

MAX_FUSED = 8
"""Locations that `fuse_locations` keeps: enough for a diagnostic, and bounded when thousands of ops merge."""


def is_known(location: LocationAttr) -> bool:
    """Whether the location says anything."""
    return not isinstance(location, UnknownLoc)


def location_of(op: Operation) -> LocationAttr:
    """The op's location, or that of the nearest op around it that has one."""
    current: Operation | None = op
    while current is not None:
        if is_known(current.location):
            return current.location
        current = current.parent_op()
    return op.location


def location_of_value(value: SSAValue) -> LocationAttr:
    """The location of the op that defines the value, or that of the block argument."""
    owner = value.owner
    if isinstance(owner, Operation):
        return location_of(owner)
    location = getattr(value, "location", None)
    if isinstance(location, LocationAttr) and is_known(location):
        return location
    parent = owner.parent_op()
    return UnknownLoc() if parent is None else location_of(parent)


def fuse_locations(*locations: LocationAttr) -> LocationAttr:
    """One location for an op that stands for several: the distinct known ones, in order, at most `MAX_FUSED`."""
    parts: dict[LocationAttr, None] = {}
    for location in locations:
        for part in _parts(location):
            parts.setdefault(part)
    known = list(parts)[:MAX_FUSED]
    if not known:
        return UnknownLoc()
    if len(known) == 1:
        return known[0]
    return FusedLoc(ArrayAttr(known), NoneAttr())


def _parts(location: LocationAttr) -> Sequence[LocationAttr]:
    if not is_known(location):
        return ()
    if not isinstance(location, FusedLoc):
        return (location,)
    inner = location.locations
    if not isinstance(inner, ArrayAttr):
        return ()
    return tuple(part for part in inner.data if isinstance(part, LocationAttr) and is_known(part))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def give_location(op: Operation, location: LocationAttr) -> None:
    """Gives the location to the op and everything nested in it that has none."""
    if not is_known(location):
        return
    if isinstance(op.location, UnknownLoc):
        op.location = location
    if not op.regions:
        return
    for nested in ops_in(op):
        if isinstance(nested.location, UnknownLoc):
            nested.location = location


@dataclass
class Inserter:
    """Inserts ops at one point, each with `location` unless it brings its own.

    `builder` may be the `PatternRewriter` of a pattern (which sees every insertion) or a plain `Builder`.
    """

    builder: Builder
    location: LocationAttr

    @staticmethod
    def before(op: Operation, rewriter: PatternRewriter | None = None) -> Inserter:
        """Inserts before the op, with its location; through the rewriter when one is given."""
        return Inserter._at(InsertPoint.before(op), op, rewriter)

    @staticmethod
    def after(op: Operation, rewriter: PatternRewriter | None = None) -> Inserter:
        """Inserts after the op, with its location; through the rewriter when one is given."""
        return Inserter._at(InsertPoint.after(op), op, rewriter)

    @staticmethod
    def _at(point: InsertPoint, op: Operation, rewriter: PatternRewriter | None) -> Inserter:
        if rewriter is None:
            return Inserter(Builder(point), location_of(op))
        rewriter.insertion_point = point
        return Inserter(rewriter, location_of(op))

    @staticmethod
    def at_end(block: Block, location: LocationAttr) -> Inserter:
        """Inserts at the end of a block."""
        return Inserter(Builder(InsertPoint.at_end(block)), location)

    def __call__(self, op: OperationT) -> OperationT:
        """Inserts the op and returns it."""
        give_location(op, self.location)
        self.builder.insert(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Inserts the op and returns its only result."""
        return self(op).results[0]

    def index(self, number: int) -> SSAValue:
        """A constant of type index."""
        return self.value(ConstantOp(IntegerAttr(number, IndexType())))


class _Escape(BaseException):
    """Carries a pattern's exception past xDSL's driver, which would turn it into a dump of the module."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


@dataclass(eq=False, repr=False)
class _Applier(RewritePattern):
    """Applies the first pattern that changes something, within a budget of rewrites."""

    patterns: Sequence[RewritePattern]
    what: str
    budget: int
    location: LocationAttr = field(default_factory=UnknownLoc)
    done: int = 0

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.location = op.location
        is_used = op.results and op.results[0].first_use is not None  # asked first: most are
        if not is_used and op.parent is not None and is_trivially_dead(op):
            rewriter.erase(op)
            return
        try:
            self._apply(op, rewriter)
        except Exception as error:
            raise _Escape(error) from error

    def _apply(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(self.location, UnknownLoc):
            self.location = location_of(op)
        name = op.name
        for pattern in self.patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                self._count(name)
                return

    def _count(self, name: str) -> None:
        self.done += 1
        if self.done <= self.budget:
            return
        raise IrcError(
            f"{self.what} does not come to an end: {self.budget} rewrites, the last on {name}",
            self.location,
            "two patterns undo each other's work; this is an error in the compiler",
        )

    def on_insertion(self, op: Operation) -> None:
        give_location(op, self.location)


def rewrite(
    op: Operation,
    patterns: Sequence[RewritePattern],
    *,
    what: str,
    limit: int = DEFAULT_LIMIT,
    recursive: bool = True,
    after_walk: Callable[[Operation], bool] | None = None,
) -> bool:
    """Rewrites everything nested in `op` greedily until no pattern applies, and erases ops without uses and effects
    on the way; returns whether anything changed.

    - `what` names the pass in diagnostics; `limit` is the number of rewrites allowed for each op that is there at the
      start (never fewer than `MIN_BUDGET` in all); beyond it an `IrcError` is raised.
    - `recursive=False` visits every op once and does not visit new ones: for one-shot lowerings.
    - `after_walk(op)` runs between walks of the whole op (common subexpressions, for one) and says whether it changed
      anything; it counts as one rewrite.

    New ops without a location get that of the op that the pattern matched.
    """
    size = len(ops_in(op))
    applier = _Applier(patterns, what, max(MIN_BUDGET, limit * size))

    def between(*_: object) -> bool:
        if after_walk is None or not after_walk(op):
            return False
        applier.location = location_of(op)
        applier._count(op.name)  # pyright: ignore[reportPrivateUsage]
        return True

    walker = PatternRewriteWalker(
        applier,
        apply_recursively=recursive,
        post_walk_func=None if after_walk is None else between,
        listener=PatternRewriterListener(operation_insertion_handler=[applier.on_insertion]),
    )
    changed = False
    try:
        for region in op.regions:
            changed |= walker.rewrite_region(region)
    except _Escape as escape:
        raise escape.error from escape.error.__cause__
    return changed


def remove_dead_code(op: Operation) -> bool:
    """Erases every op nested in `op` that has no uses and no side effects; returns whether there was one.

    One backward walk over each block finds chains of them, as users come after definitions.
    """
    changed = False
    for region in op.regions:
        for block in region.blocks:
            nested = block.last_op
            while nested is not None:
                before = nested.prev_op
                if _is_dead(nested):
                    block.erase_op(nested)
                    changed = True
                elif nested.regions:
                    changed |= remove_dead_code(nested)
                nested = before
    return changed


def remove_dead_among(ops: Iterable[Operation]) -> None:
    """Erases those of the ops, and of what they read, that have no uses and no side effects: all that is dead behind a
    rewrite of these ops, where nothing was before."""
    pending = list(ops)
    while pending:
        op = pending.pop()
        if op.parent is not None and _is_dead(op):
            pending += [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
            op.parent.erase_op(op)


def _is_dead(op: Operation) -> bool:
    """Most ops are used: that is asked first, without a call."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return is_trivially_dead(op)
