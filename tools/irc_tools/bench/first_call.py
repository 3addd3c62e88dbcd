"""The first call of a compiled model, in a process of its own: `python -m irc_tools.bench.first_call CALL RESULT`, two
files of JSON.

The model is built and run eagerly before the clock starts, so that the device and its libraries are ready. torch and
`torch._dynamo`, which both compilers share, are imported by then; what else a compiler imports is part of its first
call."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from irc_tools.bench.statistics import IRC
from irc_tools.bench.torch_steps import MODES, PRECISION, WORST, Forward, Training, built, error_of, precision_kept


@dataclass(frozen=True)
class FirstCall:
    """What is called: a row's model (and loss, in a training step) on a device, by irc or by a peer of `MODES`."""

    name: str
    model: str
    compiler: str
    device: str
    loss: str = ""
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    seed: int = 0
    check: bool = True


@dataclass(frozen=True)
class FirstResult:
    """The seconds of the call, its error beside eager's, both against the model in float32, and what irc did not
    compile."""

    seconds: float
    error: float = 0.0
    eager_error: float = 0.0
    left: tuple[str, ...] = ()

    @property
    def tolerance(self) -> float:
        return WORST * self.eager_error

    @property
    def wrong(self) -> str:
        """Why the result is wrong, or empty."""
        return "" if self.error <= self.tolerance else f"error {self.error:.2e} over {self.tolerance:.2e}"


def measure(call: FirstCall) -> FirstResult:
    """Times the first call in bf16, and checks the result of the second, or its gradients, which have no dropout."""
    import torch

    __import__("torch._dynamo")
    torch.manual_seed(call.seed)
    model, inputs = built(torch, call.name, call.model, call.dims)
    model, inputs = model.to(call.device).train(bool(call.loss)), [x.to(call.device) for x in inputs]
    step = Training(torch, model, call.name, call.loss) if call.loss else Forward()
    with torch.set_grad_enabled(bool(call.loss)), precision_kept(torch):
        reference = step.result(model, inputs).float() if call.check else None
        torch.set_float32_matmul_precision(PRECISION)
        model = model.bfloat16()
        inputs = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        eager = step.result(model, inputs)
        _synchronize(torch, call.device)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            begin = time.perf_counter()
            run = _compiled(torch, model, call.compiler)
            step(run, inputs)
            _synchronize(torch, call.device)
            seconds = time.perf_counter() - begin
        left = tuple(" ".join(str(each.message).split())[:200] for each in said if _is_left(each))
        if reference is None:
            return FirstResult(seconds, left=left)
        error = error_of(step.result(run, inputs), reference)
        return FirstResult(seconds, error, error_of(eager, reference), left)


def _compiled(torch: Any, model: Any, compiler: str) -> Any:
    if compiler != IRC:
        return torch.compile(model, dynamic=False, **MODES[compiler])
    from irc_frontend.torch import backend

    return torch.compile(model, backend=backend, dynamic=False)


def _synchronize(torch: Any, device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _is_left(said: warnings.WarningMessage) -> bool:
    """Whether irc says so of ops that it leaves to torch. Its class is not imported before the clock starts."""
    return said.category.__name__ == "NotCompiled"


def main(arguments: Sequence[str]) -> int:
    """Writes the result, or what went wrong."""
    call, result = map(Path, arguments)
    try:
        found = asdict(measure(FirstCall(**json.loads(call.read_text(encoding="utf-8")))))
    except Exception as error:  # of torch, of a library of models or of a compiler
        found = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    result.write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
