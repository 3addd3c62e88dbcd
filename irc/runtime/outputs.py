"""Where the results of a call on the device go: to new arrays, to those that the caller gives, over donated
arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irc.runtime.artifact import ArraySpec
from irc.runtime.libraries import ALIGNMENT, Library, Make, Quick, library_of
from irc.runtime.transfer import lasting
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.device import Device, Stream

Made = list[tuple[Any, int]]
"""The array of each result, and its address."""


class Outputs:
    """The results of a program. `donated` has the number of the argument by that of the result written over it."""

    def __init__(self, arguments: Sequence[ArraySpec], results: Sequence[ArraySpec], donated: Mapping[int, int]):
        self._arguments, self._results, self.donated = arguments, results, donated
        self._makers: dict[tuple[Library, int], tuple[list[Make], Quick | None]] = {}
        self._apart: Sequence[int] = ()
        """The addresses of the last arguments of which the donated ones were found apart from others."""

    def make(
        self,
        library: Library,
        on: Device,
        arrays: Sequence[Any],
        inputs: Sequence[int],
        out: Sequence[Any],
        stream: Stream,
    ) -> Made:
        """The arrays of a call on `arrays` at the addresses `inputs`. `out` is empty, or has an array or None for each
        result. IrcError where one cannot be written, or shares memory with an argument that the caller keeps."""
        try:
            makers, quick = self._makers[library, on.ordinal]
        except KeyError:
            made = [library.maker(spec, on.ordinal) for spec in self._results], library.quick(self._results)
            makers, quick = self._makers.setdefault((library, on.ordinal), made)
        if self.donated:
            self._check_donated(inputs)
        elif not out:
            allocate = lasting(on, stream)
            return [make(allocate) for make in makers]
        elif quick is not None and all(type(x) is type(out[0]) for x in out):
            addresses = quick(out, on.ordinal)
            if addresses is not None:
                self._check_apart(inputs, addresses)
                return list(zip(out, addresses, strict=True))
        return self._each(makers, on, arrays, inputs, out, stream)

    def _each(
        self,
        makers: Sequence[Make],
        on: Device,
        arrays: Sequence[Any],
        inputs: Sequence[int],
        out: Sequence[Any],
        stream: Stream,
    ) -> Made:
        """Each result a donated argument, the caller's array or a new one."""
        given = list(out) or [None] * len(self._results)
        made: Made = []
        for result, (spec, make, array) in enumerate(zip(self._results, makers, given, strict=True)):
            if result not in self.donated:
                own = make(lasting(on, stream)) if array is None else (array, _written(spec, array, on, stream))
                made.append(own)
            elif array is None:
                argument = self.donated[result]
                made.append((arrays[argument], inputs[argument]))
            else:
                message = f"result {spec.name} is written over a donated argument"
                raise IrcError(message, hint="give it None in out")
        if out:
            self._check_apart(inputs, [at for result, (_, at) in enumerate(made) if result not in self.donated])
        return made

    def _check_donated(self, inputs: Sequence[int]) -> None:
        """IrcError where a donated argument shares memory with another argument."""
        if inputs == self._apart:
            return
        ranges = sorted(_ranges("argument", self._arguments, inputs))
        owned = {f"argument {self._arguments[argument].name}" for argument in self.donated.values()}
        end, last = 0, ""
        for start, stop, name in ranges:
            if start < end and stop > start and not owned.isdisjoint((name, last)):
                raise IrcError(f"{name} shares memory with {last}, and one of them is donated", hint="copy it first")
            if stop > end:
                end, last = stop, name
        self._apart = inputs

    def _check_apart(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """IrcError where a result would be written over an argument or another result."""
        results = [spec for result, spec in enumerate(self._results) if result not in self.donated]
        written = _ranges("result", results, outputs)
        read = _ranges("argument", self._arguments, inputs)
        for index, (start, end, name) in enumerate(written):
            for other_start, other_end, other in (*read, *written[:index]):
                if start < other_end and other_start < end:
                    raise IrcError(f"{name} shares memory with {other}", hint="give it an array of its own")


def _ranges(what: str, specs: Sequence[ArraySpec], addresses: Sequence[int]) -> list[tuple[int, int, str]]:
    """Start, end and name of each array's memory."""
    pairs = zip(specs, addresses, strict=True)
    return [(at, at + spec.nbytes, f"{what} {spec.name}") for spec, at in pairs]


def _written(spec: ArraySpec, array: Any, on: Device, stream: Stream) -> int:
    """The address of a caller's array for a result. IrcError where it cannot be written as it is."""
    library = library_of(array)
    if library is None or not library.is_on_device(array):
        raise IrcError(f"the array given for result {spec.name} is on the host, and the arguments are on the device")
    taken = library.take(spec, array, stream, what="result")
    if taken.copied or taken.device != on.ordinal or taken.address % ALIGNMENT:
        hint = f"it has to be row-major, on the device of the arguments, and start at a multiple of {ALIGNMENT} bytes"
        raise IrcError(f"result {spec.name} cannot be written to the array given for it", hint=hint)
    return taken.address
