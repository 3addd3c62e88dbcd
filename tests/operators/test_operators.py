"""A slice of `sweep.py`: some operators of each kind with their first samples, and that it notices what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from typing import Any

import checking
import pytest
import samples
import torch
import windows
from checking import check
from drawing import long
from outcomes import Outcome
from table import rows, table, wholly_compiled
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

COMPILED = """add clamp exp where remainder floor_divide nn.functional.gelu nn.functional.mse_loss sum var argmax cumsum
mm baddbmm nn.functional.linear softmax nn.functional.layer_norm cat roll gather nn.functional.embedding tril
nn.functional.nll_loss logsumexp nn.functional.conv2d nn.functional.conv_transpose1d nn.functional.avg_pool2d nn.functional.adaptive_max_pool2d searchsorted
nn.functional.fractional_max_pool3d nn.functional.lp_pool2d nn.functional.fold
_weight_norm grid_sampler_2d grid_sampler_3d masked_scatter""".split()
"""Operators that leave nothing to torch."""

OPERATORS = {samples.name_of(op): op for op in samples.operators()}


@long(4)
@pytest.mark.parametrize("element", samples.USUAL)
@pytest.mark.parametrize("name", COMPILED)
def test_results_and_gradients_are_those_of_eager_torch(name: str, element: str) -> None:
    op = OPERATORS[name]
    outcome = check(op, element, limit=2)
    assert outcome.calls > 1
    for verdict in (outcome.forward, outcome.gradient):
        assert (verdict.wrong, verdict.failed, verdict.left) == ([], [], {})
    assert outcome.forward.word == "irc"
    has_gradient = samples.differentiates(op, samples.DTYPES[element])
    assert outcome.gradient.word in (["irc", "views"] if has_gradient else [""])


def test_results_in_f64_are_those_of_eager_torch() -> None:
    """Within 1e-7: nothing is computed in a narrower type."""
    outcome = check(OPERATORS["nn.functional.conv3d"], "f64", limit=2)
    assert (outcome.forward.word, outcome.gradient.word) == ("irc", "irc")


def test_every_pattern_of_windows_names_an_operator() -> None:
    assert [each for each in windows.PATTERNS if not any(fnmatch(name, each) for name in OPERATORS)] == []


@pytest.mark.parametrize("name", ["amax", "unsqueeze", "nn.functional.conv1d", "nn.functional.dropout"])
def test_calls_compiled_together_count_as_they_do_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together = check(OPERATORS[name], "f32", limit=6)
    monkeypatch.setattr(checking, "MAX_TOGETHER", 1)
    alone = check(OPERATORS[name], "f32", limit=6)
    for a, b in ((together.forward, alone.forward), (together.gradient, alone.gradient)):
        assert (a.word, a.right, a.compiled, a.left) == (b.word, b.right, b.compiled, b.left)


def test_what_torch_keeps_is_named() -> None:
    outcome = check(OPERATORS["linalg.eigh"], "f32", limit=1)
    assert outcome.forward.word == "torch"
    assert any("_linalg_eigh.default" in left for left in outcome.forward.left)
    (row,) = rows([outcome])
    assert row["forward"] == {"right": 0, "left": outcome.calls, "wrong": 0}
    assert row["left"] == sorted({*outcome.forward.left, *outcome.gradient.left})
    assert wholly_compiled([outcome]) == []


def test_views_are_not_counted_as_compiled() -> None:
    outcome = check(OPERATORS["unsqueeze"], "f32", limit=1)
    assert (outcome.forward.word, outcome.gradient.word) == ("views", "views")
    assert wholly_compiled([outcome]) == []


def _altered(change: Callable[[torch.Tensor], torch.Tensor], backwards: Sequence[bool]) -> Any:
    """A backend whose graphs, forward (False) or backward (True), give changed results."""

    def compiler(is_backward: bool) -> Callable[..., Any]:
        def compiled(module: GraphModule, inputs: Any) -> Callable[..., Any]:
            def run(*args: Any) -> Any:
                results = module(*args)
                return [change(x) if isinstance(x, torch.Tensor) else x for x in results] if is_altered else results

            is_altered = is_backward in backwards
            return run

        return compiled

    return aot_autograd(fw_compiler=compiler(False), bw_compiler=compiler(True))


@pytest.mark.parametrize("element", samples.USUAL)
def test_a_wrong_result_is_noticed(element: str) -> None:
    outcome = check(OPERATORS["sin"], element, 1, _altered(lambda x: x * 1.05, [False]))
    assert outcome.forward.word == "wrong"
    assert "sin" in table([outcome])
    assert rows([outcome])[0]["forward"] == {"right": 0, "left": 0, "wrong": outcome.calls}


def test_a_wrong_gradient_is_noticed() -> None:
    outcome = check(OPERATORS["mm"], "f32", 1, _altered(lambda x: x + 1e-3, [True]))
    assert (outcome.forward.word, outcome.gradient.word) == ("torch", "wrong")


def test_another_type_or_shape_is_noticed() -> None:
    assert check(OPERATORS["sin"], "f32", 1, _altered(lambda x: x.double(), [False])).forward.word == "wrong"
    assert check(OPERATORS["empty"], "f32", 1, _altered(lambda x: x[None], [False])).forward.word == "wrong"


def test_an_error_of_the_backend_is_noticed() -> None:
    def refuses(module: GraphModule, inputs: Any) -> Any:
        raise ValueError("no")

    outcome = check(OPERATORS["sin"], "f32", 1, refuses)
    assert outcome.forward.word == "failed"
    assert wholly_compiled([Outcome("sin", "", "f32", 1, forward=outcome.forward)]) == []
