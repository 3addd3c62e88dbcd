"""Steps of torch's optimizers, whose ops are on lists of parameters, as programs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawing import long
from torch import nn

from irc_frontend import target
from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adamw": lambda p: torch.optim.AdamW(p, 1e-2, foreach=True),
    "adam amsgrad": lambda p: torch.optim.Adam(p, 1e-2, weight_decay=0.1, amsgrad=True, foreach=True),
    "sgd": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, nesterov=True, foreach=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-2, centered=True, momentum=0.5, foreach=True),
}


@long(2)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_one_program(name: str) -> None:
    """With the clipping of gradients before it; nothing stays with torch."""
    torch.manual_seed(0)
    models = [nn.Linear(6, 4), nn.Linear(4, 6)]
    twins = copy.deepcopy(models)
    seen: list[Compiled] = []
    torch._dynamo.reset()
    for each, is_compiled in ((models, True), (twins, False)):
        torch.manual_seed(1)
        parameters = [p for model in each for p in model.parameters()]
        optimizer = OPTIMIZERS[name](parameters)

        def step(parameters: Any = parameters, optimizer: Any = optimizer) -> None:
            nn.utils.clip_grad_norm_(parameters, 0.5, foreach=True)
            optimizer.step()

        run: Callable[[], None] = torch.compile(step, backend=backend, dynamic=False) if is_compiled else step
        with watching(lambda _, compiled: seen.append(compiled)), target("interpret"):
            for _ in range(3):
                for p in parameters:
                    p.grad = torch.randn_like(p)
                run()
    assert seen and all(not compiled.division.reasons and len(compiled.programs) == 1 for compiled in seen)
    for model, twin in zip(models, twins, strict=True):
        for found, wanted in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
