"""Warm starts of torch.compile on a GPU: a second process takes what AOTAutograd made from torch's cache, and computes the
same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from irc.runtime.driver import is_present

pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

PROGRAM = '''
import json, sys
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from irc_frontend.torch import backend

device, training, autocast = sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True"


class Block(nn.Module):
    """Attention, dropout, running statistics, a weight that is used twice, and a view among the results."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 64)
        self.parts, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.norm, self.statistics = nn.LayerNorm(64), nn.BatchNorm1d(64)

    def forward(self, words):
        x = self.words(words)
        q, k, v = (each.unflatten(2, (4, 16)).transpose(1, 2) for each in self.parts(self.norm(x)).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + F.dropout(self.out(self.out(y)), 0.1, self.training)
        x = self.statistics(x.transpose(1, 2)).transpose(1, 2)
        return x @ self.words.weight.t(), x[:, 1:]


torch.manual_seed(0)
model = Block().to(device).train(training)
words = torch.randint(50, (2, 32), device=device)
run = torch.compile(model, backend=backend, dynamic=False)
with torch.set_grad_enabled(training), torch.autocast(device, torch.bfloat16, enabled=autocast):
    scores, rest = run(words)
values = [scores, rest, *model.buffers()]
if training:
    F.cross_entropy(scores.float().flatten(0, 1), words.flatten()).backward()
    values += [each.grad for each in model.parameters()]
sums = [each.double().sum().item() for each in values] + [each.double().abs().sum().item() for each in values]
print(json.dumps({"hits": counters["aot_autograd"]["autograd_cache_hit"], "sums": sums}))
'''


def said(folder: Path, device: str, *options: bool) -> dict[str, Any]:
    """What a new process with the caches of a folder says."""
    file = folder / "program.py"
    file.write_text(PROGRAM)
    own = {"IRC_CACHE_DIR": str(folder / "irc"), "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch")}
    done = subprocess.run(
        [sys.executable, file, device, *map(str, options)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("autocast", [False, True], ids=["f32", "autocast"])
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_a_second_process_traces_nothing_and_gives_the_same(training: bool, autocast: bool, tmp_path: Path) -> None:
    first, second = (said(tmp_path, "cuda", training, autocast) for _ in range(2))
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["sums"] == second["sums"]
