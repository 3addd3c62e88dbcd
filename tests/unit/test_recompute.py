"""`recompute-nd` on programs that are hard for it: long chains in which every value is used twice, and many stages."""

from __future__ import annotations

import time

import numpy as np
import pytest

from irc.dialects import nd
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import ND
from irc.driver.program import isolate, parse
from irc.interpreters.nd.interpreter import evaluate
from irc.ir.discardable import REPEATED


def chain(length: int) -> str:
    """The gradient of a chain of elementwise ops between two products."""
    steps = "".join(f"    x{i + 1} = x{i} * sin(x{i}) + x{i}\n" for i in range(length))
    return f"""
func loss(a: f64[4, 4], w: f64[4, 4]) -> f64[] {{
    x0 = a @ w
{steps}    return sum((x{length} @ w) ** 2)
}}
func step(a: f64[4, 4], w: f64[4, 4]) -> f64[4, 4] {{
    return grad(loss, wrt=[w])(a, w)
}}
"""


@pytest.mark.parametrize("length", [1, 5, 150])
def test_chains_keep_their_meaning_and_end(length: int):
    module = isolate(parse(chain(length), "chain.irc"))
    run_passes(module, passes_of(ND))
    args = [np.random.default_rng(seed).standard_normal((4, 4)) * 0.1 for seed in (0, 1)]
    before = evaluate(module, args)[0]
    start = time.thread_time()
    run_passes(module, passes_of(["recompute-nd"]))
    assert time.thread_time() - start < 20
    np.testing.assert_array_equal(evaluate(module, args)[0], before)
    copies = [op for op in module.walk() if REPEATED in op.attributes]
    assert any(isinstance(op, nd.SinOp | nd.CosOp) for op in copies)


def test_value_numbering_leaves_the_copies():
    module = isolate(parse(chain(3), "chain.irc"))
    run_passes(module, passes_of([*ND, "recompute-nd"]))
    once = str(module)
    run_passes(module, passes_of(["canonicalize-nd"]))
    assert str(module) == once
