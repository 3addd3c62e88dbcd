"""An executable some of whose arguments have values already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irc.runtime.arrays import check_count
from irc.runtime.artifact import ArraySpec
from irc.runtime.executable import Executable
from irc.runtime.transfer import on_one_side


class _WithWeights:
    """Calls an executable with its weights among the arguments. Where a call's arrays are on a device the weights are
    copied there once, as arrays of their library."""

    def __init__(self, executable: Executable, weights: Mapping[str, np.ndarray[Any, Any]]):
        self._executable = executable
        self._given = [spec for spec in executable.arguments if spec.name not in weights]
        self._numbers = [number for number, spec in enumerate(executable.arguments) if spec.name in weights]
        self._weights: list[Any] = [weights[executable.arguments[number].name] for number in self._numbers]
        self._there: dict[type[Any], list[Any]] = {}

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call, of the arguments that are no weights."""
        check_count(self._given, arrays)
        kind: type[Any] = type(arrays[0]) if arrays else np.ndarray
        merged = self._merged(arrays, self._there.get(kind, self._weights))
        placed = on_one_side(merged)
        if placed is not merged:
            self._there[kind] = [placed[number] for number in self._numbers]
        return self._executable.run(placed, stream, out)

    def _merged(self, arrays: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        given, known = iter(arrays), dict(zip(self._numbers, weights, strict=True))
        count = len(self._executable.arguments)
        return [known[number] if number in known else next(given) for number in range(count)]


def with_weights(executable: Executable, weights: Mapping[str, np.ndarray[Any, Any]]) -> Executable:
    """The executable of the arguments that have no weight."""
    remaining: list[ArraySpec] = [spec for spec in executable.arguments if spec.name not in weights]
    program = _WithWeights(executable, weights)
    return Executable(
        executable.name, executable.target, remaining, executable.results, program, manifest=executable.manifest
    )
