"""The page of a model of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from irc.support.diagnostics import IrcError
from irc_frontend.torch import explain


def test_the_programs_of_a_model_are_on_one_page(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU())
    explanation = explain(model, torch.randn(8, 32))
    path = tmp_path / "model.html"
    text = explanation.report(path, target="cpu")
    assert path.read_text(encoding="utf-8") == text
    assert [graph.kind for graph in explanation.graphs] == ["forward", "backward"]
    titles = re.findall(r"<option value=\"\d\"[^>]*>(.*?)</option>", text)
    assert titles == ["1: forward", "2: backward"] * 2
    assert text.count("LLVM IR</h2>") == 2 and "CUDA C++</h2>" not in text
    on_gpu = explanation.report(target="cuda")
    assert on_gpu.count("CUDA C++</h2>") == 2


def test_a_model_without_programs_has_no_page() -> None:
    explanation = explain(lambda x: x, torch.randn(4))
    with pytest.raises(IrcError, match="irc has no program of this model"):
        explanation.report()
