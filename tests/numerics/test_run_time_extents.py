"""Programs whose extents are known when they are called: compiled once, right for every size."""

from __future__ import annotations

import re

import pytest
from drawing import long
from gpu.programs.run_time_extents import PROGRAMS, drawn, sizes_of
from numerics.harness import TOLERANCES, assert_close, draw_arguments, result_elements

import irc
from irc.driver.compiler import compile_artifact
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import TILE
from irc.driver.program import isolate, parse
from irc.interpreters.tile import interpreter as tiles
from irc.ir.extents import at_sizes, dims_of
from irc.ir.targets import set_target
from irc.language import parser as language
from irc.runtime.plan import Launch, Plan
from irc.runtime.sizes import SizedPlan
from irc.support.extents import dim_of


@long(30, of_all=2)
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_right_for_every_size(name: str, arch: str):
    text = PROGRAMS[name]
    simulated, interpreted = irc.compile(text, target="sim", arch=arch), irc.compile(text, target="cpu")
    elements = result_elements(parse(text, "<test>"))
    for sizes in sizes_of(simulated.dims):
        arrays = drawn(simulated.at(**sizes))
        found, expected = simulated(*arrays), interpreted(*arrays)
        if len(elements) == 1:
            found, expected = (found,), (expected,)
        for a, b, element in zip(expected, found, elements, strict=True):
            assert_close(a, b, element, TOLERANCES, f"{name} with {sizes}")


@long(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_keep_what_the_module_means_for_every_size(name: str):
    module = isolate(parse(PROGRAMS[name], "<test>"))
    set_target(module, "sm_90a")
    each = [(at, draw_arguments(at_sizes(module, at))) for at in sizes_of(dims_of(module))[1:3]]
    elements = result_elements(module)
    nd = TILE.index("check-extents")
    run_passes(module, passes_of(TILE[:nd]))
    expected = [tiles.evaluate(at_sizes(module, at), arrays) for at, arrays in each]
    for one in passes_of(TILE[nd:]):
        run_passes(module, [one])
        if one.name not in ("split-reductions", "tile-kernels", "plan-shared"):
            continue
        for (at, arrays), wanted in zip(each, expected, strict=True):
            for a, b, element in zip(wanted, tiles.evaluate(at_sizes(module, at), arrays), elements, strict=True):
                assert_close(a, b, element, TOLERANCES, f"{name} with {at} after {one.name}")


CHOSEN = ("turned", "turned bytes", "sequence block")
"""Programs whose configs and layouts are chosen by costs of the number: by how far apart rows lie, and by how many tiles
share the L2 cache."""


@long(10)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in CHOSEN])
def test_kernels_do_not_depend_on_the_number_that_stands_for_an_extent(name: str, monkeypatch: pytest.MonkeyPatch):
    """Whatever a pass computes from it and leaves in the code would show."""
    first = compile_artifact(PROGRAMS[name], arch="sm_90a")
    primes = [dim.prime for dim in Plan.from_json(first.plan).dims]
    monkeypatch.setattr(language, "dim_of", lambda *args, avoid: dim_of(*args, avoid=[*avoid, *primes]))
    second = compile_artifact(PROGRAMS[name] + "# with other primes", arch="sm_90a")
    assert not {dim.prime for dim in Plan.from_json(second.plan).dims} & set(primes)
    for a, b in zip(first.kernels, second.kernels, strict=True):
        assert re.sub(r"// .*", "", a.source) == re.sub(r"// .*", "", b.source)
    sizes = sizes_of(Plan.from_json(first.plan).dims)
    plans = [[SizedPlan(Plan.from_json(x.plan)).at(at) for at in sizes] for x in (first, second)]
    assert plans[0] == plans[1]


def test_a_thousand_sizes_are_one_compilation(monkeypatch: pytest.MonkeyPatch):
    from irc.driver import build

    compiled: list[int] = []
    begin = build.Compilations.begin
    monkeypatch.setattr(
        build.Compilations, "begin", lambda self, ops, *rest: compiled.append(len(ops)) or begin(self, ops, *rest)
    )
    monkeypatch.setenv("IRC_CACHE_DIR", "")
    artifact = compile_artifact(PROGRAMS["block"] + "\n# a thousand sizes", arch="sm_90a")
    plan = Plan.from_json(artifact.plan)
    grids = {
        tuple(step.grid[0] for step in SizedPlan(plan).at({"N": n}).steps if isinstance(step, Launch))
        for n in range(1, 1001)
    }
    assert len(compiled) == 1 and len(grids) > 30
    assert SizedPlan(plan).at({"N": 1000}).arena < SizedPlan(plan).at({"N": 4096}).arena <= plan.arena
