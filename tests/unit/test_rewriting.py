"""The rewrite driver: locations, dead code, the cap on rewrites, and errors that reach the caller."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from irc.ir.rewriting import Inserter, fuse_locations, location_of, remove_dead_code, rewrite
from irc.support.diagnostics import IrcError


def loc(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("a.irc"), IntAttr(line), IntAttr(1))


def addition() -> tuple[ModuleOp, AddiOp]:
    """A module in which `x + x` at line 5 has a user at line 6."""
    x = TestOp(result_types=[i32])
    x.location = loc(4)
    add = AddiOp(x.results[0], x.results[0])
    add.location = loc(5)
    use = TestOp(operands=[add.result])
    use.location = loc(6)
    return ModuleOp([x, add, use]), add


class AddToMul(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddiOp, rewriter: PatternRewriter, /) -> None:
        two = ConstantOp.from_int_and_width(2, 32)
        rewriter.replace(op, [two, MuliOp(op.lhs, two.result)])


class MulToAdd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MuliOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, AddiOp(op.lhs, op.lhs))


class Fails(RewritePattern):
    def __init__(self, error: Exception):
        self.error = error

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddiOp, rewriter: PatternRewriter, /) -> None:
        raise self.error


def ops_of(module: ModuleOp) -> list[Operation]:
    return list(module.body.block.ops)


def test_new_ops_get_the_location_of_the_matched_root():
    module, _ = addition()
    assert rewrite(module, [AddToMul()], what="add-to-mul")
    assert [(op.name, op.location) for op in ops_of(module)] == [
        ("test.op", loc(4)),
        ("arith.constant", loc(5)),
        ("arith.muli", loc(5)),
        ("test.op", loc(6)),
    ]


def test_a_location_that_an_op_brings_is_kept():
    class WithLocation(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: AddiOp, rewriter: PatternRewriter, /) -> None:
            new = MuliOp(op.lhs, op.rhs)
            new.location = loc(99)
            rewriter.replace(op, new)

    module, _ = addition()
    rewrite(module, [WithLocation()], what="with-location")
    assert ops_of(module)[1].location == loc(99)


def test_patterns_that_undo_each_other_end_in_a_diagnostic():
    module, _ = addition()
    with pytest.raises(IrcError, match="ping-pong does not come to an end") as raised:
        rewrite(module, [AddToMul(), MulToAdd()], what="ping-pong", limit=3)
    assert raised.value.location == loc(5)


@pytest.mark.parametrize("error", [IrcError("no such size", loc(5)), ZeroDivisionError("division by zero")])
def test_an_error_of_a_pattern_reaches_the_caller_unchanged(error: Exception):
    module, _ = addition()
    with pytest.raises(type(error)) as raised:
        rewrite(module, [Fails(error)], what="fails")
    assert raised.value is error


def test_dead_chains_are_removed_and_ops_with_effects_stay():
    x = TestOp(result_types=[i32])
    add = AddiOp(x.results[0], x.results[0])
    module = ModuleOp([x, add, MuliOp(add.result, add.result)])
    assert remove_dead_code(module)
    assert [op.name for op in ops_of(module)] == ["test.op"]
    assert not remove_dead_code(module)


def test_dead_code_is_removed_on_the_way():
    x = TestOp(result_types=[i32])
    module = ModuleOp([x, AddiOp(x.results[0], x.results[0])])
    assert rewrite(module, [], what="nothing")
    assert len(ops_of(module)) == 1


def test_after_walk_runs_until_it_changes_nothing():
    module, _ = addition()
    left = [True, True, False]
    assert rewrite(module, [], what="walks", after_walk=lambda _: left.pop(0))
    assert left == []


def test_after_walk_that_never_ends_is_capped():
    module, _ = addition()
    with pytest.raises(IrcError, match="does not come to an end"):
        rewrite(module, [], what="walks", after_walk=lambda _: True, limit=1)


def test_inserter_places_ops_with_its_location():
    module, add = addition()
    at = Inserter.before(add)
    two = at(ConstantOp.from_int_and_width(2, 32))
    assert ops_of(module)[1] is two
    assert two.location == loc(5)
    after = Inserter.after(add).value(MuliOp(add.result, two.result))
    assert ops_of(module)[3] is after.owner


def test_location_of_falls_back_to_the_op_around():
    module, add = addition()
    module.location = loc(1)
    add.location = UnknownLoc()
    assert location_of(add) == loc(1)


def test_fused_locations_are_distinct_known_and_bounded():
    assert fuse_locations(loc(1), UnknownLoc(), loc(1)) == loc(1)
    assert fuse_locations(UnknownLoc()) == UnknownLoc()
    both = fuse_locations(loc(1), loc(2))
    assert isinstance(both, FusedLoc)
    assert fuse_locations(both, loc(2)) == both
    many = fuse_locations(*(loc(i) for i in range(100)))
    assert isinstance(many, FusedLoc) and len(many.locations.data) == 8  # pyright: ignore
