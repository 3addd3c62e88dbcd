"""Rows that are whole models of torch: `torch.compile(model, backend="irc")` beside eager and torch's own compiler."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from irc.runtime.workbench import Enqueue, Variant, Workbench
from irc.support.diagnostics import IrcError
from irc_tools.bench.limits import Buffers, reading
from irc_tools.bench.measure import Settings, time_variants
from irc_tools.bench.record import RowRecord
from irc_tools.bench.statistics import IRC
from irc_tools.bench.suite import Row
from irc_tools.bench.torch_peers import MODES, body_function

WORST = 1.5
"""How many times eager's error irc's may be, both against the model in f32."""


def measure_model(bench: Workbench, row: Row, record: RowRecord, settings: Settings) -> RowRecord:
    """Times the forward pass of a row's model in bf16, or a training step of it, after the result, or the gradients,
    are checked."""
    import torch

    from irc_frontend.torch import backend

    torch.manual_seed(settings.seed)
    known = {"torch": torch, "vary_norms": vary_norms}
    model, inputs = body_function(row.name, row.model, list(row.dims), known)(**row.dims)
    model, inputs = model.cuda().train(bool(row.loss)), [x.cuda() for x in inputs]
    step = Training(torch, model, row) if row.loss else Forward()
    with torch.set_grad_enabled(bool(row.loss)), _precision_kept(torch):
        reference = step.result(model, inputs).float()
        # Where torch.compile takes attention apart, it multiplies in f32, and asks for this to use tensor cores.
        torch.set_float32_matmul_precision("high")
        model = model.bfloat16()
        narrow = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        own: dict[str, Any] = {"mode": "reduce-overhead"} if "reduce-overhead" in row.peers else {}
        runs: dict[str, Any] = {"eager": model, IRC: torch.compile(model, backend=backend, dynamic=False, **own)}
        for name in settings.peers:
            if name in row.peers and name != "eager":
                runs[name] = torch.compile(model, dynamic=False, **MODES[name])
        errors = {name: _error(step.result(runs[name], narrow), reference) for name in ("eager", IRC)}
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


def vary_norms(model: Any) -> None:
    """Draws the parameters and running statistics of batch norms. Models begin with norms that change nothing but how
    ties are rounded."""
    from torch import nn

    norms = [each for each in model.modules() if isinstance(each, nn.BatchNorm2d | nn.BatchNorm3d)]
    for norm in norms:
        if norm.running_mean is not None and norm.running_var is not None:
            nn.init.normal_(norm.running_mean, std=0.1)
            nn.init.uniform_(norm.running_var, 0.5, 2.0)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.1)


class Step(Protocol):
    """What a row does with `run`, a model compiled or not. A call of it is timed, its result is checked."""

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None: ...

    def result(self, run: Any, inputs: Sequence[Any]) -> Any: ...


class Forward:
    """A forward pass, and its first result."""

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None:
        run(*inputs)

    def result(self, run: Any, inputs: Sequence[Any]) -> Any:
        return _first(run(*inputs))


class Training:
    """A loss and its gradients, without an optimizer, so that every step has the same parameters. The running
    statistics of norms move, but in training nothing depends on them."""

    def __init__(self, torch: Any, model: Any, row: Row):
        self._torch, self._model = torch, model
        self._parameters: list[Any] = list(model.parameters())
        self._loss = body_function(row.name, row.loss, ["model", "*inputs"], {"torch": torch})

    def __call__(self, run: Any, inputs: Sequence[Any]) -> None:
        self._loss(run, *inputs).backward()
        self._drop_gradients()

    def result(self, run: Any, inputs: Sequence[Any]) -> Any:
        """All gradients put together; zeros of parameters that the loss does not depend on."""
        with without_dropout(self._torch, self._model):
            self._loss(run, *inputs).backward()
        found = [self._torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
        self._drop_gradients()
        return self._torch.cat([gradient.flatten() for gradient in found])

    def _drop_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None


@contextmanager
def without_dropout(torch: Any, model: Any) -> Generator[None]:
    """What dropout draws depends on the type of its elements, and on the compiler: gradients with it do not compare."""
    dropouts = [(module, module.p) for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    for module, _ in dropouts:
        module.p = 0.0
    try:
        yield
    finally:
        for module, probability in dropouts:
            module.p = probability


@contextmanager
def _precision_kept(torch: Any) -> Generator[None]:
    before = torch.get_float32_matmul_precision()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _calling(step: Step, run: Any, inputs: list[Any]) -> Enqueue:
    def enqueue(number: int) -> None:
        step(run, inputs)

    return enqueue


def _first(result: Any) -> Any:
    """The result of a model: a tensor, or the first of those that it has."""
    return result if hasattr(result, "shape") else next(iter(result.values()))


def _error(found: Any, reference: Any) -> float:
    """The mean difference, in units of the reference's standard deviation."""
    if found.shape != reference.shape:
        raise IrcError(f"a result of {list(found.shape)}, expected {list(reference.shape)}")
    return float((found.float() - reference).abs().mean() / reference.std())
