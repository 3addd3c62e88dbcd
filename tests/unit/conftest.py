"""Lets unit tests import the helper modules beside them; fixtures that several of them use."""

import sys
from collections import OrderedDict
from collections.abc import Generator
from pathlib import Path

import pytest

from irc.driver.compiler import preferred_target

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def on_cpu() -> Generator[None]:
    """Tensors are computed on the CPU: `IRC_TARGET` says how."""
    import irc_frontend

    with irc_frontend.target(preferred_target()):
        yield


@pytest.fixture
def on_interpreter(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Tensors are computed op by op, for tests of what is recorded; programs that were kept stay as they are."""
    import irc_frontend
    from irc_frontend import evaluation

    monkeypatch.setattr(evaluation, "_compiled", OrderedDict())
    with irc_frontend.target("interpret"):
        yield


@pytest.fixture
def fresh_torch() -> None:
    """torch has compiled nothing, and draws from its first seed."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
