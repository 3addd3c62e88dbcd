"""Rows that are whole models of torch: `torch.compile(model, backend="irc")` beside eager and torch's own compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from irc.runtime.workbench import Enqueue, Variant, Workbench
from irc_tools.bench.limits import Buffers, reading
from irc_tools.bench.measure import Settings, time_variants
from irc_tools.bench.record import RowRecord
from irc_tools.bench.statistics import IRC
from irc_tools.bench.suite import Row
from irc_tools.bench.torch_steps import (
    MODES,
    PRECISION,
    WORST,
    Forward,
    Step,
    Training,
    built,
    error_of,
    precision_kept,
)


def measure_model(bench: Workbench, row: Row, record: RowRecord, settings: Settings) -> RowRecord:
    """Times the forward pass of a row's model in bf16, or a training step of it, after the result, or the gradients,
    are checked."""
    import torch

    from irc_frontend.torch import backend

    torch.manual_seed(settings.seed)
    model, inputs = built(torch, row.name, row.model, row.dims)
    model, inputs = model.cuda().train(bool(row.loss)), [x.cuda() for x in inputs]
    step = Training(torch, model, row.name, row.loss) if row.loss else Forward()
    with torch.set_grad_enabled(bool(row.loss)), precision_kept(torch):
        reference = step.result(model, inputs).float()
        torch.set_float32_matmul_precision(PRECISION)
        model = model.bfloat16()
        narrow = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        own: dict[str, Any] = {"mode": "reduce-overhead"} if "reduce-overhead" in row.peers else {}
        runs: dict[str, Any] = {"eager": model, IRC: torch.compile(model, backend=backend, dynamic=False, **own)}
        for name in settings.peers:
            if name in row.peers and name != "eager":
                runs[name] = torch.compile(model, dynamic=False, **MODES[name])
        errors = {name: error_of(step.result(runs[name], narrow), reference) for name in ("eager", IRC)}
        allowed = WORST * errors["eager"]
        wrong = f"error {errors[IRC]:.2e} over {allowed:.2e}" if not errors[IRC] <= allowed else ""
        checks = ({"error": errors[IRC], "tolerance": allowed, "reason": wrong},)
        record = replace(record, checks=checks, eager_errors=(errors["eager"],))
        if wrong and settings.check:
            return replace(record, error=f"wrong: {wrong}")
        variants = [Variant(name, _calling(step, run, narrow)) for name, run in runs.items()]
        record = replace(record, bytes=_held_bytes(model))
        buffers = Buffers(bench, record.bytes) if any(bar.against == "read" for bar in row.bars) else None
        if buffers is not None:
            variants.append(Variant("read", reading(bench, buffers)))
        try:
            return record.timed(time_variants(bench, row.clock, variants, settings.repetitions))
        finally:
            if buffers is not None:
                buffers.free()


def _held_bytes(model: Any) -> int:
    """Of the parameters and buffers of a model, each once."""
    return sum(x.nbytes for x in (*model.parameters(), *model.buffers()))


def _calling(step: Step, run: Any, inputs: list[Any]) -> Enqueue:
    def enqueue(number: int) -> None:
        step(run, inputs)

    return enqueue
