"""Rows that are whole models of torch: `torch.compile(model, backend="irc")` beside eager and torch's own compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irc.runtime.workbench import Enqueue, Variant, Workbench
from irc_tools.bench.limits import Buffers, reading
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row
from irc_tools.bench.statistics import IRC
from irc_tools.bench.timing import Settings, time_variants
from irc_tools.bench.torch_steps import (
    MODES,
    PRECISION,
    WORST,
    Forward,
    Step,
    Training,
    built,
    built_for_sizes,
    error_of,
    precision_kept,
)


def measure_model(bench: Workbench, row: Row, record: RowRecord, settings: Settings) -> RowRecord:
    """Times the forward pass of a row's model in bf16, or a training step of it, after the result, or the gradients,
    are checked. Of a row with sizes, it is compiled for shapes that change, and what is timed calls it with each."""
    import torch

    from irc_frontend.torch import backend

    torch.manual_seed(settings.seed)
    if row.sizes:
        model, calls = built_for_sizes(torch, row.name, row.model, row.dims, row.swept)
    else:
        model, inputs = built(torch, row.name, row.model, row.dims)
        calls = [inputs]
    model, calls = model.cuda().train(bool(row.loss)), [[x.cuda() for x in inputs] for inputs in calls]
    step = Training(torch, model, row.name, row.loss) if row.loss else Forward()
    with torch.set_grad_enabled(bool(row.loss)), precision_kept(torch):
        references = [step.result(model, inputs).float() for inputs in calls]
        torch.set_float32_matmul_precision(PRECISION)
        model = model.bfloat16()
        calls = [[x.bfloat16() if x.is_floating_point() else x for x in inputs] for inputs in calls]
        dynamic = bool(row.sizes)
        own: dict[str, Any] = {"mode": "reduce-overhead"} if "reduce-overhead" in row.peers else {}
        runs: dict[str, Any] = {"eager": model, IRC: torch.compile(model, backend=backend, dynamic=dynamic, **own)}
        for name in settings.peers:
            if name in row.peers and name != "eager":
                runs[name] = torch.compile(model, dynamic=dynamic, **MODES[name])
        checks = [_check(step, runs, inputs, reference) for inputs, reference in zip(calls, references, strict=True)]
        record = replace(record, checks=tuple(c for c, _ in checks), eager_errors=tuple(e for _, e in checks))
        if settings.check and (wrong := [check["reason"] for check, _ in checks if check["reason"]]):
            return replace(record, error="wrong: " + "; ".join(wrong))
        variants = [Variant(name, _calling(step, run, calls)) for name, run in runs.items()]
        record = replace(record, bytes=_held_bytes(model))
        buffers = Buffers(bench, record.bytes) if any(bar.against == "read" for bar in row.bars) else None
        if buffers is not None:
            variants.append(Variant("read", reading(bench, buffers)))
        try:
            return record.timed(time_variants(bench, row.clock, variants, settings.repetitions))
        finally:
            if buffers is not None:
                buffers.free()


def _check(step: Step, runs: dict[str, Any], inputs: list[Any], reference: Any) -> tuple[dict[str, Any], float]:
    """A check of the record, and eager's error."""
    eager, own = (error_of(step.result(runs[name], inputs), reference) for name in ("eager", IRC))
    allowed = WORST * eager
    reason = "" if own <= allowed else f"error {own:.2e} over {allowed:.2e}"
    return {"error": own, "tolerance": allowed, "reason": reason}, eager


def _held_bytes(model: Any) -> int:
    """Of the parameters and buffers of a model, each once."""
    return sum(x.nbytes for x in (*model.parameters(), *model.buffers()))


def _calling(step: Step, run: Any, calls: list[list[Any]]) -> Enqueue:
    def enqueue(number: int) -> None:
        for inputs in calls:
            step(run, inputs)

    return enqueue
