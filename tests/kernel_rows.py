"""Whether the row of a suite that is a kernel in Python is right on small arrays, by its torch body in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from irc.runtime.artifact import ArraySpec
from irc.runtime.compare import Array, compare
from irc_tools.bench.case import compiled, named_arguments
from irc_tools.bench.draws import draw_block
from irc_tools.bench.rows import Row
from irc_tools.bench.torch_steps import body_function


def check_row(row: Row, target: str) -> None:
    torch: Any = pytest.importorskip("torch")
    executable = compiled(row, target, dims={**row.dims, **row.small})
    specs = named_arguments(row, executable)
    arrays = _drawn(row, specs)
    found = executable(*arrays)
    known = {"torch": torch, "F": torch.nn.functional}
    work = body_function(row.name, row.reference or row.torch, [spec.name for spec in specs], known)
    expected = work(*(torch.from_numpy(_wide(array)) for array in arrays))
    results, references = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    for spec, result, reference in zip(executable.results, results, references, strict=True):
        comparison = compare(np.asarray(result), reference.numpy(), spec.element)
        assert comparison.passed, comparison.reason


def _drawn(row: Row, specs: Sequence[ArraySpec]) -> list[Array]:
    dims = {**row.dims, **row.small}
    blocks = (draw_block(spec, row.inputs.get(spec.name, ""), dims, 1, index) for index, spec in enumerate(specs))
    return [block.reshape(spec.shape) for block, spec in zip(blocks, specs, strict=True)]


def _wide(array: Array) -> Array:
    return array if np.issubdtype(array.dtype, np.integer) else array.astype(np.float64)
