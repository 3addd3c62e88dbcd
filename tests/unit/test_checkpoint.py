"""Checkpoints: what is written is read back to the bit, and what does not fit is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError
from irc_frontend import nn

pytestmark = pytest.mark.usefixtures("on_cpu")


def test_every_element_type_and_shape_comes_back(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((3, 4)) * 10
    tree: dict[str, Any] = {name: ir.Tensor(values.astype(dtype)) for name, dtype in DTYPES.items()}
    tree |= {"more": [ir.zeros([]), (np.zeros((0, 2), np.int32), ir.Tensor(values).T * 2)], "none": None}
    path = tmp_path / "all.safetensors"
    nn.save(path, tree, {"epoch": "3"})
    found, words = nn.load(path, tree)
    assert words == {"epoch": "3"}
    for wanted, got in zip(ir.tree_leaves(tree), ir.tree_leaves(found), strict=True):
        assert got.node.type == ir.Tensor(wanted).node.type
        assert got.numpy().tobytes() == ir.Tensor(wanted).numpy().tobytes()
    assert found["none"] is None
    assert [each.name for each in tmp_path.iterdir()] == ["all.safetensors"]


def test_the_library_reads_our_files_and_we_its(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    params = {"blocks": [nn.Linear(3, 2).init(0)]}
    nn.save(tmp_path / "a", params)
    theirs = load_file(tmp_path / "a")
    assert list(theirs) == ["blocks.0.bias", "blocks.0.weight"]
    np.testing.assert_array_equal(theirs["blocks.0.weight"], params["blocks"][0]["weight"].numpy())
    save_file({name: array + 1 for name, array in theirs.items()}, tmp_path / "b")
    found, words = nn.load(tmp_path / "b", params)
    assert words == {}
    np.testing.assert_array_equal(found["blocks"][0]["bias"].numpy(), [1, 1])


def test_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    nn.save(path, {"w": np.zeros(3, np.float32)})
    with pytest.raises(IrcError, match=r"without \['b'\], with \['w'\]"):
        nn.load(path, {"b": ir.zeros([3])})
    with pytest.raises(IrcError, match=r"w is f32\[3\], expected bf16\[3\]"):
        nn.load(path, {"w": ir.zeros([3], "bf16")})
    with pytest.raises(IrcError, match=r"two arrays of a checkpoint are named a\.b"):
        nn.save(path, {"a.b": ir.zeros([3]), "a": {"b": ir.zeros([3])}})
    for content in (b"", path.read_bytes()[:-1], b"\xff" * 100):
        (tmp_path / "b").write_bytes(content)
        with pytest.raises(IrcError, match="cannot read"):
            nn.load(tmp_path / "b", {"w": ir.zeros([3])})
    with pytest.raises(IrcError, match="cannot read"):
        nn.load(tmp_path / "c", {"w": ir.zeros([3])})
    with pytest.raises(IrcError, match="cannot write"):
        nn.save(tmp_path / "no folder" / "a", {"w": ir.zeros([3])})
