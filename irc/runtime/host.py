"""A call of a target that runs on the host: checked numpy arrays in, numpy arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.arrays import check_count, host_array, written
from irc.runtime.artifact import ArraySpec
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.cpu import CpuProgram
    from irc.runtime.interpreted import InterpretedProgram
    from irc.runtime.profile import Profile


class HostProgram:
    """Runs a program on numpy arrays."""

    def __init__(
        self,
        arguments: Sequence[ArraySpec],
        results: Sequence[ArraySpec],
        function: CpuProgram | InterpretedProgram,
    ):
        self._arguments = tuple(arguments)
        self._results = tuple(results)
        self._function = function

    def profile(self, arrays: Sequence[Any], repetitions: int) -> Profile:
        """The time of each op."""
        from irc.runtime.profile import profile_host

        return profile_host(self._function, self._checked(arrays), repetitions)

    def _checked(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        check_count(self._arguments, arrays)
        return [host_array(spec, array) for spec, array in zip(self._arguments, arrays, strict=True)]

    def run(self, arrays: Sequence[Any], stream: Any | None, out: Sequence[Any] = ()) -> list[Any]:
        """One call. IrcError where the arrays do not fit, or a stream is given: there is none on the host."""
        if stream is not None:
            raise IrcError("programs on the host have no streams", hint="leave stream out")
        return written(self._results, self._function(self._checked(arrays)), out)
