"""Indices out of range on a GPU: the launch fails, as by an assertion. Each in a process of its own, whose GPU is lost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irc.runtime.driver import is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

FRONTEND = """
import numpy as np
import irc_frontend as ir
with ir.target("cuda"):
    x = ir.Tensor(np.arange(4000, dtype=np.float32).reshape(1000, 4))
    print(ir.take(x, np.array([INDEX, 7]), 0).numpy()[0, 0])
"""
TORCH = """
import torch
import torch.nn.functional as F
from irc_frontend.torch import backend
table = torch.arange(4000.0, device="cuda").reshape(1000, 4)
read = torch.compile(lambda x, i: F.embedding(i, x), backend=backend)
found = read(table, torch.tensor([INDEX, 7], device="cuda"))
torch.cuda.synchronize()
print(found[0, 0].item())
"""
LABELS = """
import torch
import torch.nn.functional as F
from irc_frontend.torch import backend
x = torch.zeros(77, 1000, device="cuda", requires_grad=True)
labels = torch.full((77,), 3, device="cuda")
labels[76] = INDEX
loss = torch.compile(F.cross_entropy, backend=backend)(x, labels)
loss.backward()
torch.cuda.synchronize()
print(round(loss.item(), 3))
"""


def ended(text: str, index: int) -> subprocess.CompletedProcess[str]:
    code = text.replace("INDEX", str(index))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "inside", "printed"), [(FRONTEND, -1, "3996.0"), (TORCH, 999, "3996.0"), (LABELS, 999, "6.908")]
)
def test_an_index_out_of_range_fails_the_launch(text: str, inside: int, printed: str) -> None:
    if "import torch" in text:
        pytest.importorskip("torch")
    fine = ended(text, inside)
    assert fine.returncode == 0 and fine.stdout.strip() == printed, fine.stderr
    for wrong in (1000, -1001):
        failed = ended(text, wrong)
        assert failed.returncode != 0 and not failed.stdout.strip()
        assert "<= index < 1000` failed" in failed.stderr and "assert" in failed.stderr.lower(), failed.stderr
