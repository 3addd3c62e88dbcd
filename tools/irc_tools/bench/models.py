"""Rows that are whole models of torch: `torch.compile(model, backend="irc")` beside eager and torch's own compiler."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from irc.diagnostics import IrcError
from irc_tools.bench.measure import Settings, time_variants
from irc_tools.bench.record import RowRecord
from irc_tools.bench.statistics import IRC
from irc_tools.bench.suite import Row
from irc_tools.bench.torch_peers import MODES, body_function
from irc_tools.bench.workbench import Enqueue, Variant, Workbench

WORST = 1.5
"""How many times eager's error irc's may be, both against the model in f32."""


def measure_model(bench: Workbench, row: Row, record: RowRecord, settings: Settings) -> RowRecord:
    """Times the forward pass of a row's model in bf16, after its result is checked."""
    import torch

    from irc_frontend.torch import backend

    torch.manual_seed(settings.seed)
    model, inputs = body_function(row.name, row.model, list(row.dims), {"torch": torch})(**row.dims)
    with torch.no_grad(), _precision_kept(torch):
        reference = _first(model.cuda().eval()(*(x.cuda() for x in inputs))).float()
        # Where torch.compile takes attention apart, it multiplies in f32, and asks for this to use tensor cores.
        torch.set_float32_matmul_precision("high")
        model = model.bfloat16()
        narrow = [x.cuda().bfloat16() if x.is_floating_point() else x.cuda() for x in inputs]
        runs: dict[str, Any] = {"eager": model, IRC: torch.compile(model, backend=backend, dynamic=False)}
        for name in settings.peers:
            if name in row.peers and name != "eager":
                runs[name] = torch.compile(model, dynamic=False, **MODES[name])
        errors = {name: _error(_first(run(*narrow)), reference) for name, run in runs.items()}
        allowed = WORST * errors["eager"]
        wrong = f"error {errors[IRC]:.2e} over {allowed:.2e}" if not errors[IRC] <= allowed else ""
        checks = ({"error": errors[IRC], "tolerance": allowed, "reason": wrong},)
        record = replace(record, checks=checks, eager_errors=(errors["eager"],))
        if wrong and settings.check:
            return replace(record, error=f"wrong: {wrong}")
        variants = [Variant(name, _calling(run, narrow)) for name, run in runs.items()]
        return replace(record, times=time_variants(bench, row.clock, variants, settings.repetitions))


@contextmanager
def _precision_kept(torch: Any) -> Generator[None]:
    before = torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _calling(run: Any, inputs: list[Any]) -> Enqueue:
    def enqueue(number: int) -> None:
        run(*inputs)

    return enqueue


def _first(result: Any) -> Any:
    """The result of a model: a tensor, or the first of those that it has."""
    return result if hasattr(result, "shape") else next(iter(result.values()))


def _error(found: Any, reference: Any) -> float:
    """The mean difference, in units of the reference's standard deviation."""
    if found.shape != reference.shape:
        raise IrcError(f"a result of {list(found.shape)}, expected {list(reference.shape)}")
    return float((found.float() - reference).abs().mean() / reference.std())
