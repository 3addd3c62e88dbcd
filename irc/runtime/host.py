"""The cpu target's side of a call: checked numpy arrays in, numpy arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irc.artifact import ArraySpec
from irc.diagnostics import IrcError
from irc.runtime.arrays import check_count, host_array


class HostProgram:
    """Runs a function from numpy arrays to numpy arrays."""

    def __init__(
        self,
        arguments: Sequence[ArraySpec],
        function: Callable[[Sequence[np.ndarray[Any, Any]]], Sequence[np.ndarray[Any, Any]]],
    ):
        self._arguments = tuple(arguments)
        self._function = function

    def run(self, arrays: Sequence[Any], stream: Any | None) -> list[Any]:
        """One call. IrcError where the arrays do not fit, or a stream is given: there is none on the host."""
        if stream is not None:
            raise IrcError("the cpu target has no streams", hint="leave stream out")
        check_count(self._arguments, arrays)
        checked = [host_array(spec, array) for spec, array in zip(self._arguments, arrays, strict=True)]
        return list(self._function(checked))
