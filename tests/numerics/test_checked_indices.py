"""Checks of indices in kernels: they find every index that is out of range, and none that no array has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc
from irc.driver.lowering import lower
from irc.driver.program import parse, signature
from irc.interpreters.nd.interpreter import evaluate
from irc.interpreters.sim.errors import SimulationError
from irc.ir.functions import entry_of
from irc.runtime.sim import SimProgram
from irc.support.diagnostics import IrcError

COUNT, ROWS, COLUMNS = 37, 19, 70
"""No multiples of a tile: what lies beyond the indices is read as 0, which is out of range below."""

HEAD = f"func f(x: f32[{ROWS}, {COLUMNS}], i: i64[{COUNT}], j: i8[{ROWS}], k: u8[5]) ->"
CHECKED = f"check_indices(i - 1, 0, {ROWS})"
"""Indices from 1 on: of what a tile has beyond them -1."""

PROGRAMS = {
    "rows": f"f32[{COUNT}, {COLUMNS}] {{ return take(x, {CHECKED}) }}",
    "a transposed table": f"f32[{COUNT}, {ROWS}] {{ return transpose(take(x, check_indices(i - 1, 0, {COLUMNS}), axis=1)) }}",
    "sums of what is read": f"f32[{COLUMNS}] {{ return sum(exp(take(x, {CHECKED})), axis=0) }}",
    "a class of each row": f"f32[{ROWS}, 1] {{ return take_along(log_softmax(x, axis=1), "
    f"reshape(cast(check_indices(j - 1, 0, {ROWS}), i64), [{ROWS}, 1]), axis=1) }}",
    "padded indices": f"f32[{COUNT + 5}, {COLUMNS}] {{ return take(x, pad({CHECKED}, [[2, 3]])) }}",
    "indices of two parts": f"f32[{COUNT + 5}, {COLUMNS}] "
    f"{{ return take(x, concat([{CHECKED}, cast(check_indices(k - 1, 0, {ROWS}), i64)], axis=0)) }}",
    "indices of indices": f"f32[5, {COLUMNS}] {{ return take(x, check_indices(take(i, check_indices(k - 1, 0, {COUNT})) - 1, 0, {ROWS})) }}",
    "the only row": f"f32[5, {COLUMNS}] {{ return exp(take(x[:1], check_indices((k + 26) // 27 - 1, 0, 1))) }}",
    "rows that are all the same": f"f32[{COUNT}, 3] {{ return take(ones([{ROWS}, 3], f32), {CHECKED}) }}",
    "a row that is spread": f"f32[{COUNT}, {COLUMNS}] {{ return take(broadcast(x[0], [{ROWS}, {COLUMNS}]), {CHECKED}) }}",
    "a scatter": f"f32[{ROWS}, {COLUMNS}] {{ return scatter_add(x, {CHECKED}, 1) }}",
    "from the end": f"i64[{COUNT}] {{ return check_indices(i - 10, -9, {ROWS}) }}",
}


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    indices = [rng.integers(1, ROWS + 1, n).astype(t) for n, t in ((COUNT, "i8"), (ROWS, "i1"), (5, "u1"))]
    return [rng.standard_normal((ROWS, COLUMNS)).astype(np.float32), *indices]


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_check_what_arrays_have(name: str) -> None:
    module = parse(f"{HEAD} {PROGRAMS[name]}", "test")
    program = SimProgram(lower(module, "all"), *signature(entry_of(module)))
    ours = irc.compile(f"{HEAD} {PROGRAMS[name]}", target="cpu")
    given = arrays()
    np.testing.assert_allclose(ours(*given), evaluate(module, given)[0], rtol=1e-5, atol=1e-5)
    for found, wanted in zip(program.run(given, None), evaluate(module, given), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    read = {
        "a class of each row": [2],
        "indices of two parts": [1, 3],
        "indices of indices": [3],
        "the only row": [3],
    }.get(name, [1])
    for place, wrong in [(place, wrong) for place in read for wrong in (0, 100)]:
        bad = [each.copy() for each in given]
        bad[place][-1] = wrong
        with pytest.raises(IrcError, match="is out of range"):
            evaluate(module, bad)
        with pytest.raises(SimulationError, match="an index is out of range: -?[09] <= index <") as caught:
            program.run(bad, None)
        with pytest.raises(IrcError, match="index -?[0-9]+ is out of range: -?[09] <= index <"):
            ours(*bad)
        assert caught.value.kind == "out of bounds" and caught.value.location is not None
