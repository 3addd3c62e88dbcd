"""Programs for classes of sizes on a GPU: one set of kernels, right for every size, by every way of calling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.programs.run_time_extents import PROGRAMS, drawn, sizes_of

import irc
from irc.runtime.driver import is_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_present(), reason="no GPU is present")]

TOLERANCE = 2e-2
"""Of the largest value of a result: the programs give bf16."""


def check(found: Any, expected: Any) -> None:
    pairs = [(found, expected)] if not isinstance(found, tuple) else zip(found, expected, strict=True)
    for a, b in pairs:
        wide, reference = np.asarray(a).astype(np.float64), b.astype(np.float64)
        assert wide.shape == reference.shape
        assert np.abs(wide - reference).max() <= TOLERANCE * max(1e-9, np.abs(reference).max())


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    executable, interpreted = irc.compile(PROGRAMS[name], "cuda"), irc.compile(PROGRAMS[name], "cpu")
    large = [{dim.name: dim.most // dim.multiple // 3 * dim.multiple for dim in executable.dims}]
    for sizes in [*sizes_of(executable.dims), *large]:
        arrays = drawn(executable.at(**sizes))
        check(executable(*arrays), interpreted(*arrays))


def test_arrays_of_torch_graphs_and_bound_calls() -> None:
    torch = pytest.importorskip("torch")
    executable = irc.compile(PROGRAMS["block"], "cuda")
    interpreted = irc.compile(PROGRAMS["block"], "cpu")
    for n in (7, 100, 1000, 7):
        arrays = drawn(executable.at(N=n))
        on_device = [torch.from_numpy(x.astype(np.float32)).to("cuda", torch.bfloat16) for x in arrays]
        expected = interpreted(*arrays)
        for results in (executable(*on_device), executable.bind(*on_device)(), executable.graph(*on_device)()):
            check(tuple(x.float().cpu().numpy() for x in results), expected)


def test_torch_with_a_changing_batch() -> None:
    torch = pytest.importorskip("torch")
    from irc_frontend.torch import backend

    layers = torch.nn.LayerNorm(256), torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 64)
    model = torch.nn.Sequential(*layers).to("cuda", torch.bfloat16)
    compiled = torch.compile(model, backend=backend, dynamic=True)
    with torch.no_grad():
        for rows in (3, 8, 64, 65, 500, 3):
            x = torch.randn(rows, 256, device="cuda", dtype=torch.bfloat16)
            torch.testing.assert_close(compiled(x), model(x), atol=3e-2, rtol=3e-2)
