"""Lets unit tests import the helper modules beside them; fixtures that several of them use."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def on_cpu() -> Generator[None]:
    """Tensors are computed on the CPU."""
    import irc_frontend

    with irc_frontend.target("cpu"):
        yield


@pytest.fixture
def fresh_torch() -> None:
    """torch has compiled nothing, and draws from its first seed."""
    import torch

    torch._dynamo.reset()
    torch.manual_seed(0)
