"""A slice of `sweep.py`: some operators of each kind with their first samples, and that it notices what is wrong."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import samples
import sweep
import torch
import windows
from checking import check
from drawing import long
from outcomes import Outcome, joined
from table import rows, table, wholly_compiled
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

from irc.driver.compiler import ARTIFACTS

COMPILED = """add clamp exp where remainder floor_divide nn.functional.gelu nn.functional.mse_loss sum var argmax cumsum
mm baddbmm nn.functional.linear softmax nn.functional.layer_norm cat roll gather nn.functional.embedding tril
nn.functional.nll_loss logsumexp nn.functional.conv2d nn.functional.conv_transpose1d nn.functional.avg_pool2d nn.functional.adaptive_max_pool2d searchsorted
nn.functional.fractional_max_pool3d nn.functional.lp_pool2d nn.functional.fold
_weight_norm linalg.svd linalg.eigh pinverse grid_sampler_2d grid_sampler_3d masked_scatter mode nn.functional.pdist""".split()
"""Operators that leave nothing to torch."""

OPERATORS = {samples.name_of(op): op for op in samples.operators()}


@long(4)
@pytest.mark.parametrize(
    ("name", "element"),
    [(name, element) for name in COMPILED for element in samples.USUAL if samples.has(OPERATORS[name], element)],
)
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


def test_calls_of_one_structure_share_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dilation of 1 and of (1,), a stride of 2 and of (2,): the cache has the program of one for all."""
    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("IRC_TARGET", "cpu")
    outcome = check(OPERATORS["nn.functional.max_pool1d"], "f32", limit=24)
    assert (outcome.forward.word, outcome.gradient.word) == ("irc", "irc")
    assert 0 < len(list((tmp_path / ARTIFACTS).iterdir())) < outcome.calls


def test_what_torch_keeps_is_named() -> None:
    outcome = check(OPERATORS["matrix_exp"], "f32", limit=1)
    assert outcome.forward.word == "torch"
    assert any("matrix_exp.default" in left for left in outcome.forward.left)
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


def test_parts_of_the_samples_are_those_of_all() -> None:
    op = OPERATORS["nn.functional.conv1d"]
    count = samples.count(op, torch.float32, None)
    tasks = list(sweep.tasks_of(list(OPERATORS).index(samples.name_of(op)), "f32", None))
    assert [(task.start, task.limit) for task in tasks] == [(0, 2), (2, 8), (8, None)]
    parts = [check(op, "f32", task.limit, start=task.start) for task in tasks]
    (whole,), alone = joined(reversed(parts)), check(op, "f32")
    assert (whole.calls, whole.limit) == (alone.calls, None) == (count + 1, None)
    assert (whole.forward, whole.gradient) == (alone.forward, alone.gradient)
    assert sweep.lacking(tasks, parts) == sweep.lacking(tasks, [alone]) == []


def test_samples_that_were_not_called_are_named() -> None:
    tasks = list(sweep.tasks_of(list(OPERATORS).index("nn.functional.max_unpool3d"), "f32", None))
    first, second, third, *_ = tasks
    parts = [Outcome("nn.functional.max_unpool3d", "", "f32", 1, start=task.start, limit=task.limit) for task in tasks]
    assert sweep.lacking(tasks, [parts[0], parts[2]]) == [second, *tasks[3:]]
    (whole,) = joined([parts[0], parts[2]])
    assert whole.limit == first.limit, "not beyond the gap"
    named = [
        f"nn.functional.max_unpool3d f32: {second.count - third.end + second.end - second.start} of {second.count}"
    ]
    assert sweep.described(sweep.lacking(tasks, [parts[0], parts[2]])) == named


def test_a_run_goes_on_from_a_record() -> None:
    """Its counts are those of one run: the samples that it has are not called."""
    op = OPERATORS["nn.functional.conv1d"]
    first, second, third = sweep.tasks_of(list(OPERATORS).index("nn.functional.conv1d"), "f32", None)
    parts = [check(op, "f32", task.limit, start=task.start) for task in (first, second)]
    earlier = sweep.outcomes_of_record({"operators": rows(joined(parts))})
    assert sweep.lacking([first, second, third], earlier) == [third]
    later = check(op, "f32", third.limit, start=third.start)
    whole, alone = rows(joined([*earlier, later])), rows(joined([*parts, later]))
    assert [row | {"seconds": 0} for row in whole] == [row | {"seconds": 0} for row in alone]


def test_a_record_says_what_was_left_and_wrong() -> None:
    left = check(OPERATORS["matrix_exp"], "f32", limit=1)
    wrong = check(OPERATORS["sin"], "f32", 1, _altered(lambda x: x * 1.05, [False]))
    found = sweep.outcomes_of_record({"operators": rows([left, wrong])})
    assert [each.forward.word for each in found] == ["torch", "wrong"]
    assert rows(found) == rows([left, wrong])


def test_a_number_of_samples_is_not_exceeded() -> None:
    tasks = list(sweep.tasks_of(list(OPERATORS).index("nn.functional.max_pool2d"), "f32", 5))
    assert [(task.start, task.limit) for task in tasks] == [(0, 2), (2, 5)]


class _Sleeper(sweep._Worker):  # pyright: ignore[reportPrivateUsage]
    """A worker that does nothing."""

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, self.other = context.Pipe()
        self.process = context.Process(target=time.sleep, args=(600,), daemon=True)
        self.process.start()


def test_a_part_that_is_late_is_named_and_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker ends, and it counts as failed."""
    monkeypatch.setattr(sweep, "_Worker", _Sleeper)
    monkeypatch.setattr(_Sleeper, "end", lambda worker: worker.process.kill())
    first, second, *_ = sweep.tasks_of(list(OPERATORS).index("nn.functional.conv2d"), "f32", None)
    late = list(sweep.outcomes_of([first], sweep.Settings("irc", "cpu", 0.1, 1), 1))
    assert [each.forward.failed for each in late] == [["not done after 0.1 s"]]
    assert sweep.lacking([first, second], late) == [second]


def test_no_part_is_begun_after_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_Worker", _Sleeper)
    monkeypatch.setattr(_Sleeper, "end", lambda worker: worker.process.kill())
    tasks = list(sweep.tasks_of(list(OPERATORS).index("nn.functional.conv2d"), "f32", None))
    assert list(sweep.outcomes_of(tasks, sweep.Settings("irc", "cpu", 60, 0), 1)) == []
