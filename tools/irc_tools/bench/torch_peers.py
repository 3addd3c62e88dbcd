"""torch beside irc: the same work eagerly and compiled, and a reference in float64. torch is imported here alone."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from irc.artifact import ArraySpec
from irc.diagnostics import IrcError
from irc_tools.bench.case import Case
from irc_tools.bench.suite import Row
from irc_tools.bench.workbench import Enqueue, Workbench
from irc_tools.compare import TOLERANCES, Comparison

DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
}

MODES: dict[str, dict[str, Any]] = {
    "eager": {},
    "compile": {},
    "max-autotune": {"mode": "max-autotune-no-cudagraphs"},
    "reduce-overhead": {"mode": "reduce-overhead"},
}
"""Options of torch.compile. max-autotune is without its CUDA graph, which would copy the inputs of each set into its
own: the host is ahead of the device anyway where that is what is timed."""

CHUNK = 1 << 26
"""Elements that are compared at once."""


def body_function(row: Row, arguments: Sequence[str], namespace: dict[str, Any]) -> Callable[..., Any]:
    """The Python function of a row's `torch` body. IrcError where it does not parse."""
    source = f"def work({', '.join(arguments)}):\n{textwrap.indent(textwrap.dedent(row.torch).strip(), '    ')}\n"
    made = dict(namespace)
    try:
        exec(compile(source, f"<torch of {row.name}>", "exec"), made)
    except SyntaxError as error:
        raise IrcError(f"row {row.name!r}: its torch body is no Python: {error}") from error
    return made["work"]


class TorchArrays:
    """Arrays that are torch's tensors."""

    def __init__(self, torch: Any):
        self._torch = torch

    def make(self, spec: ArraySpec) -> tuple[int, Any]:
        tensor = self._torch.empty(spec.shape, dtype=getattr(self._torch, DTYPES[spec.element]), device="cuda")
        return int(tensor.data_ptr()), tensor


class Torch:
    """torch on the workbench's stream."""

    def __init__(self, bench: Workbench):
        try:
            self._torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise IrcError("peers need torch, which is not installed", hint="without --peers it is not used") from error
        stream: Any = bench.stream
        self._torch.cuda.set_stream(self._torch.cuda.ExternalStream(int(stream.handle)))
        self.arrays = TorchArrays(self._torch)

    def function(self, case: Case) -> Callable[..., Any]:
        """What runs eagerly."""
        functional = importlib.import_module("torch.nn.functional")
        names = [spec.name for spec in case.executable.arguments]
        return body_function(case.row, names, {"torch": self._torch, "F": functional})

    def peer(self, case: Case, name: str) -> Enqueue:
        """A peer, compiled by a first call. Its last results are kept, so that it writes to as many places as irc.

        IrcError where torch fails."""
        work = self.function(case)
        if name != "eager":
            work = self._torch.compile(work, dynamic=False, **MODES[name])
        kept: list[Any] = [None] * case.count

        def enqueue(number: int) -> None:
            kept[number % case.count] = work(*case.inputs[number % case.count])

        try:
            enqueue(0)
            self._torch.cuda.synchronize()
        except Exception as error:
            raise IrcError(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
        return enqueue

    def check(self, case: Case) -> list[Comparison]:
        """Compares the first set's results with the body on inputs in float64."""
        wide = [self._widened(tensor) for tensor in case.inputs[0]]
        found = self.function(case)(*wide)
        references = found if isinstance(found, tuple) else (found,)
        return [
            self._compare(result, reference, spec.element)
            for result, reference, spec in zip(case.results[0], references, case.executable.results, strict=True)
        ]

    def _widened(self, tensor: Any) -> Any:
        return tensor.double() if tensor.is_floating_point() else tensor

    def _compare(self, result: Any, reference: Any, element: str) -> Comparison:
        """As `irc_tools.compare.compare` does, on the device, in chunks."""
        if tuple(result.shape) != tuple(reference.shape):
            return Comparison(float("inf"), 0.0, f"shape {list(result.shape)}, expected {list(reference.shape)}", "")
        parts = list(zip(_chunks(result), _chunks(reference), strict=True))
        if element not in TOLERANCES:
            different = sum(int((mine != theirs).sum()) for mine, theirs in parts)
            reason = f"{different} of {result.numel()} elements differ" if different else ""
            return Comparison(float(different), 0.0, reason, "")
        return self._close(parts, TOLERANCES[element])

    def _close(self, parts: Sequence[tuple[Any, Any]], tolerance: float) -> Comparison:
        torch, difference, scale, unequal = self._torch, 0.0, 0.0, 0
        for mine, theirs in parts:
            # What the result's type cannot hold counts as infinite in the reference too.
            stored = theirs.to(mine.dtype).double()
            mine, theirs = mine.double(), torch.where(stored.isinf(), stored, theirs.double())
            finite = theirs.isfinite()
            same = (mine == theirs) | (mine.isnan() & theirs.isnan())
            unequal += int((~finite & ~same).sum()) + int((finite & ~mine.isfinite()).sum())
            scale = max(scale, float(torch.where(finite, theirs.abs(), 0).max()))
            difference = max(difference, float(torch.where(finite & mine.isfinite(), (mine - theirs).abs(), 0).max()))
        error = difference / (scale or 1.0)
        if unequal:
            return Comparison(error, tolerance, f"{unequal} elements are NaN or infinite on one side only", "")
        return Comparison(error, tolerance, "" if error <= tolerance else f"error {error:.2e} over {tolerance:g}", "")

    def release(self) -> None:
        """Gives back what torch keeps of memory and of compiled code."""
        self._torch._dynamo.reset()
        self._torch.cuda.empty_cache()


def _chunks(tensor: Any) -> Sequence[Any]:
    return tensor.reshape(-1).split(CHUNK) if tensor.numel() else ()
