"""expand-schedule keeps the meaning of drawn loops under drawn schedules, and refuses wrong ones."""

from __future__ import annotations

import random

import numpy as np
import pytest
from drawing import long, seeds
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from irc.dialects import tile
from irc.driver.lowering import passes_of, run_passes
from irc.driver.program import new_context
from irc.interpreters.tile import interpreter
from irc.ir.parser import parse_ir
from irc.ir.targets import set_target
from irc.scheduling.dependences import body_of, operands_of, passed_on, sources_of
from irc.support.diagnostics import IrcError

VECTOR = "tensor<32xf32, #f>"


TILES = 5


def program(draw: random.Random, *, values: bool = False) -> str:
    """A loop that carries a few vectors, loads others by its variable, and adds and multiplies what it has. values: its
    bounds depend on the tile, and tile t has t iterations."""
    carried = [f"%c{at}" for at in range(draw.randint(1, 3))]
    known, lines = list(carried), list[str]()
    for at in range(draw.randint(2, 8)):
        if draw.random() < 0.3:
            lines.append(f"%v{at} = tile.load %x[%i] : !tile.view<320xf32> -> {VECTOR}")
        else:
            a, b = draw.choice(known), draw.choice(known)
            body = f"%r = arith.{draw.choice(['addf', 'subf', 'maximumf'])} %p, %q : f32"
            head = f"%v{at} = tile.map {a}, {b} : {VECTOR}, {VECTOR} -> {VECTOR}"
            lines.append(f"{head} {{\n^bb0(%p: f32, %q: f32):\n{body}\ntile.yield %r : f32\n}}")
        known.append(f"%v{at}")
    ends = [draw.choice(known) for _ in carried]
    trips, first, step = draw.randint(3, 6), draw.randint(0, 5), draw.randint(1, 7)
    types = ", ".join([VECTOR] * len(carried))
    tiles = TILES if values else 1
    size = 32 * len(carried) * tiles
    stores = "\n".join(
        f"tile.store %s{at}, %y[%to{at}] : {VECTOR}, !tile.view<{size}xf32>" for at in range(len(carried))
    )
    places = "\n".join(f"%to{at} = arith.addi %row, %at{at} : index" for at in range(len(carried)))
    bounds = f"%low = arith.constant {first} : index\n%high = arith.constant {first + trips * step} : index"
    if values:
        bounds = (
            f"%first = arith.constant {first} : index\n%low = arith.addi %t, %first : index\n"
            "%span = arith.muli %t, %step : index\n%high = arith.addi %low, %span : index"
        )
    return f"""#f = #tile.fragment<(32,1):(1,32)>
func.func @f(%x: tensor<320xf32>) -> tensor<{size}xf32> {{
%0 = kernel.launch @p(%x) : (tensor<320xf32>) -> tensor<{size}xf32>
func.return %0 : tensor<{size}xf32>
}}
tile.program @p(%x: !tile.view<320xf32>, %y: !tile.view<{size}xf32>) {{results = 1 : i64, threads = 32 : i64}} {{
tile.for_tiles (%t) extents [{tiles}] steps [1] {{
%size = arith.constant {32 * len(carried)} : index
%row = arith.muli %t, %size : index
%step = arith.constant {step} : index
{bounds}
{chr(10).join(f"%at{at} = arith.constant {32 * at} : index" for at in range(len(carried)))}
{chr(10).join(f"%b{at} = tile.load %x[%at{at}] : !tile.view<320xf32> -> {VECTOR}" for at in range(len(carried)))}
{", ".join(f"%s{at}" for at in range(len(carried)))} = scf.for %i = %low to %high step %step \
iter_args({", ".join(f"{c} = %b{at}" for at, c in enumerate(carried))}) -> ({types}) {{
{chr(10).join(lines)}
scf.yield {", ".join(ends)} : {types}
}}
{places}
{stores}
}}
}}
"""


def parsed(text: str) -> tuple[ModuleOp, scf.ForOp]:
    module = parse_ir(new_context(), text, "drawn.mlir")
    set_target(module, "sm_90a")
    module.verify()
    return module, next(op for op in module.walk() if isinstance(op, scf.ForOp))


def place(loop: scf.ForOp, draw: random.Random, *, clamped: bool = False) -> bool:
    """Gives the ops of a loop places that what they use of each other allows; whether such were found."""
    ops = body_of(loop)
    sources = {op: sources_of(op, loop) for op in ops}
    stages: dict[Operation, int] = {}
    for op in ops:
        least = max((stages[s.op] for s in sources[op] if s.distance == 0), default=0)
        stages[op] = min(2, least + draw.choice([0, 0, 1]))
    deltas = {op: [(stages[op] + s.distance - stages[s.op], s.op) for s in sources[op]] for op in ops}
    if any(delta < 0 for found in deltas.values() for delta, _ in found):
        return False
    home = max(stages.values()) if clamped else 0
    if any(stages[op] != home and value in passed_on(loop) for op in ops for value in operands_of(op)):
        return False
    loop.attributes |= {tile.CLAMPED: UnitAttr()} if clamped else {}
    order: list[Operation] = []
    while len(order) < len(ops):
        free = [op for op in ops if op not in order and all(s in order for delta, s in deltas[op] if delta == 0)]
        if not free:
            return False
        order.append(draw.choice(free))
    for at, op in enumerate(order):
        op.attributes[tile.SCHEDULED] = tile.AtAttr.of(stages[op], at)
    return True


@long(4)
@pytest.mark.fuzz
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("seed", seeds(60, first=4100))
@pytest.mark.parametrize("values", [False, True])
def test_a_drawn_schedule_keeps_the_meaning(seed: int, values: bool, clamped: bool) -> None:
    draw = random.Random(seed)
    module, loop = parsed(program(draw, values=values))
    x = np.random.default_rng(seed).standard_normal(320).astype(np.float32)
    expected = interpreter.evaluate(module, [x])
    if not place(loop, draw, clamped=clamped):
        return
    run_passes(module, passes_of(("expand-schedule",)))
    module.verify()
    assert not any({tile.SCHEDULED, tile.CLAMPED} & op.attributes.keys() for op in module.walk())
    for mine, other in zip(interpreter.evaluate(module, [x]), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_drawn_schedules_overlap() -> None:
    """Most of what is drawn is a schedule, and many have several stages."""
    found: list[int] = []
    for seed in range(4100, 4160):
        draw = random.Random(seed)
        _, loop = parsed(program(draw))
        if place(loop, draw):
            found.append(max(at.stage.data for op in body_of(loop) if (at := tile.place_of(op)) is not None))
    assert len(found) > 40
    assert sum(last > 0 for last in found) > 20


def test_too_few_iterations() -> None:
    text = program(random.Random(4100))
    module, loop = parsed(text)
    loop.operands[1] = loop.lb
    for at, op in enumerate(body_of(loop)):
        op.attributes[tile.SCHEDULED] = tile.AtAttr.of(0 if at < len(body_of(loop)) - 1 else 1, at)
    with pytest.raises(IrcError, match=r"a schedule of 2 stages needs 1 iterations"):
        run_passes(module, passes_of(("expand-schedule",)))
