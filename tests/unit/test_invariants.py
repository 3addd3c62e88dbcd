"""What passes require and establish: declared, true behind each pass, and looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ALL, PASSES
from irc.driver.program import isolate, load, new_context
from irc.driver.universe import resolve
from irc.ir.passes import Invariant, check_established, check_required
from irc.support.diagnostics import IrcError

EXAMPLES = Path(__file__).parents[2] / "examples"


def declared() -> list[tuple[str, Invariant]]:
    """Each invariant with a pass that requires or establishes it."""
    classes = {name: resolve(path) for name, path in PASSES.items()}
    return [(name, each) for name, cls in classes.items() for each in (*cls.requires, *cls.establishes)]


@pytest.mark.parametrize("name", ["softmax", "gating", "gated_unit_step"])
def test_they_hold_behind_each_pass(name: str) -> None:
    module, context = isolate(load(EXAMPLES / f"{name}.irc")), new_context()
    for each in passes_of(ALL):
        each.apply(context, module)
        check_established(each, module)


def test_each_is_established_by_the_pass_that_it_names() -> None:
    for name, invariant in declared():
        maker = resolve(PASSES[invariant.by])
        assert invariant in maker.establishes, f"{invariant.by} does not establish {invariant.name}, which {name} has"


def test_each_fails_before_the_pass_that_establishes_it() -> None:
    """Of those that a pass of the pipelines makes true, so that a check cannot be one that always holds."""
    module, context = isolate(load(EXAMPLES / "gated_unit_step.irc")), new_context()
    failed: set[str] = set()
    for each in passes_of(ALL):
        failed |= {one.name for one in type(each).establishes if one.offender(module) is not None}  # pyright: ignore[reportAttributeAccessIssue]
        each.apply(context, module)
    assert failed == {each.name for _, each in declared()} - {"layout-free"}


def test_a_pass_out_of_order_is_one_error() -> None:
    module = isolate(load(EXAMPLES / "softmax.irc"))
    (late,) = passes_of(["build-host-plan"])
    check_required(late, module)
    for each in passes_of(ALL[: ALL.index("tile-kernels")]):
        each.apply(new_context(), module)
    with pytest.raises(
        IrcError, match="pass 'build-host-plan' requires that kernels are the code of a thread"
    ) as caught:
        run_passes(module, [late])
    assert caught.value.hint == "run lower-to-cuda first"
    with pytest.raises(IrcError, match="pass 'lower-to-cuda' requires that kernels are tile programs") as caught:
        run_passes(module, passes_of(["lower-to-cuda"]))
    assert caught.value.hint == "run tile-kernels first"
