"""What a process loads and does for models that another one has compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import irc_frontend as ir
from irc.support import cache
from irc_frontend.torch import costs, lowered_costs
from irc_frontend.torch.rules import argument


def attention(length: int, order: bool = False) -> ir.Tensor:
    """Written out, as products: one kernel of irc's, or two of a kind that irc has none for."""
    q, k, v = (argument((4, length, 64), torch.bfloat16) for _ in range(3))
    scores = q @ k.permute(0, 2, 1)
    return (ir.cumsum(scores, -1) if order else ir.softmax(scores, -1)) @ v


def test_a_warm_start_loads_no_ir(tmp_path: Path) -> None:
    """xDSL and irc's dialects and passes take a part of a second, of each process."""
    code = (
        "import sys, torch, irc_frontend.torch\n"
        "from torch import nn\n"
        "torch.manual_seed(0)\n"
        "conv, pool, out = nn.Conv2d(3, 16, 3), nn.MaxPool2d(2), nn.Linear(16, 4)\n"
        "def model(x):\n"
        "    y = pool(conv(x).relu()).flatten(2).transpose(1, 2)\n"
        "    return out(nn.functional.scaled_dot_product_attention(y, y, y)).softmax(-1)\n"
        "with torch.no_grad():\n"
        "    torch.compile(model, backend='irc', dynamic=False)(torch.ones(2, 3, 10, 10))\n"
        "print(sorted(name for name in sys.modules if name.startswith(('xdsl', 'irc.dialects', 'irc.passes'))))"
    )
    given = {**os.environ, "IRC_TARGET": "cpu", "IRC_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=given).stdout
        for _ in range(2)
    ]
    assert "irc.dialects.nd" in found[0]
    assert found[1] == "[]\n"


def test_the_backend_is_loaded_without_a_look_for_garbage() -> None:
    code = (
        "import gc, torch, torch._dynamo\n"
        "looks = []\n"
        "gc.callbacks.append(lambda phase, info: looks.append(info['generation']))\n"
        "limits = gc.get_threshold()\n"
        "import irc, irc_frontend\n"
        "looks.clear()\n"
        "import irc_frontend.torch\n"
        "assert len(looks) < 10, len(looks)\n"
        "assert gc.get_threshold() == limits"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_dynamo_traces_without_a_look_for_garbage() -> None:
    """But for those behind its compilation, which torch asks for. `torch._dynamo.reset` forgets it until irc compiles."""
    code = (
        "import gc, torch, irc_frontend.torch\n"
        "from torch import nn\n"
        "looks = []\n"
        "gc.callbacks.append(lambda phase, info: phase == 'stop' and looks.append(info['generation']))\n"
        "limits = gc.get_threshold()\n"
        "def count():\n"
        "    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(20)))\n"
        "    compiled = torch.compile(model, backend='irc', dynamic=False)\n"
        "    gc.collect()\n"
        "    looks.clear()\n"
        "    compiled(torch.ones(2, 4))\n"
        "    assert gc.get_threshold() == limits\n"
        "    return len(looks)\n"
        "assert count() < 8, looks\n"
        "torch._dynamo.reset()\n"
        "assert count() > 8, looks\n"
        "assert count() < 8, looks"
    )
    given = {**os.environ, "IRC_TARGET": "interpret"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=given)
    assert found.returncode == 0, found.stderr


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str | None]:
    """What lowering attention says, each time that it is lowered, with an empty cache."""
    found: list[str | None] = []
    in_several = lowered_costs.why_in_several

    def noting(*arguments: Any) -> str | None:
        found.append(in_several(*arguments))
        return found[-1]

    monkeypatch.setenv("IRC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(lowered_costs, "why_in_several", noting)
    monkeypatch.setattr(costs, "_known", {})
    return found


@pytest.mark.parametrize("order", [False, True])
def test_whether_attention_is_one_kernel_is_kept(
    lowered: list[str | None], monkeypatch: pytest.MonkeyPatch, order: bool
) -> None:
    """For the next process, by the arrays' shapes."""
    reason = costs.why_slow([attention(128, order).node])
    monkeypatch.setattr(costs, "_known", {})
    assert costs.why_slow([attention(128, order).node]) == reason
    assert lowered == [reason]
    assert (reason is not None) == order
    costs.why_slow([attention(256, order).node])
    assert len(lowered) == 2


def test_what_is_kept_is_of_these_costs(lowered: list[str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found where irc, or what decides it, is another."""
    costs.why_slow([attention(128).node])
    monkeypatch.setattr(costs, "_known", {})
    monkeypatch.setattr(cache, "source_digest", lambda: "another irc")
    costs.why_slow([attention(128).node])
    assert len(lowered) == 2
