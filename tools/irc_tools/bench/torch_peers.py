"""torch beside irc: the same work eagerly and compiled, and a reference in float64. torch is imported here alone."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Callable, Sequence
from typing import Any

from irc.runtime.artifact import ArraySpec
from irc.runtime.compare import TOLERANCES, Comparison
from irc.runtime.workbench import Enqueue, Workbench
from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import TRITON
from irc_tools.bench.case import Case, tolerated
from irc_tools.bench.torch_steps import MODES, body_function

CHUNK = 1 << 26
"""Elements that are compared at once."""


class TorchArrays:
    """Arrays that are torch's tensors. torch names its dtypes as numpy and ml_dtypes do."""

    def __init__(self, torch: Any):
        self._torch = torch

    def make(self, spec: ArraySpec) -> tuple[int, Any]:
        tensor = self._torch.empty(spec.shape, dtype=getattr(self._torch, spec.dtype.name), device="cuda")
        return int(tensor.data_ptr()), tensor


class Torch:
    """torch on the workbench's stream."""

    def __init__(self, bench: Workbench):
        try:
            self._torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise IrcError("peers need torch, which is not installed", hint="without --peers it is not used") from error
        # Autotuning reports every candidate, and those that do not fit with a traceback.
        logging.getLogger("torch._inductor").setLevel(logging.CRITICAL)
        self._torch._logging.set_logs(inductor=logging.CRITICAL)
        self._torch._inductor.config.autotune_num_choices_displayed = 0
        # cuDNN times its ways of a convolution on the first call.
        self._torch.backends.cudnn.benchmark = True
        self._torch.cuda.set_stream(self._torch.cuda.ExternalStream(bench.stream))
        self.arrays = TorchArrays(self._torch)

    def function(self, case: Case) -> Callable[..., Any]:
        """What runs eagerly."""
        return self._body(case, case.row.torch)

    def _body(self, case: Case, body: str) -> Callable[..., Any]:
        functional = importlib.import_module("torch.nn.functional")
        names = [spec.name for spec in case.arguments]
        return body_function(case.row.name, body, names, {"torch": self._torch, "F": functional})

    def peer(self, case: Case, name: str) -> Enqueue:
        """A peer, compiled by a first call. IrcError where torch fails.

        Its last results are kept, so that it writes to as many places as irc; a CUDA graph of torch's has places of its
        own."""
        work = self.function(case)
        if name != "eager":
            work = self._torch.compile(work, dynamic=False, **MODES[name])
        enqueue, _ = self._calls(case, name, work, keep=name != "reduce-overhead")
        return enqueue

    def triton(self, case: Case) -> Enqueue:
        """The row's kernel of Triton, tuned and compiled by a first call. IrcError where Triton is not installed or
        fails, and where its results are not irc's."""
        assert case.row.triton is not None
        if importlib.util.find_spec("triton") is None:
            raise IrcError(f"{TRITON} is not installed")
        try:
            work = case.row.triton.get()
        except Exception as error:  # of the file
            raise _failed(TRITON, error) from error
        enqueue, results = self._calls(case, TRITON, work, keep=True)
        found = [
            tolerated(each, case.row.tolerance.get(spec.element))
            for each, spec in zip(
                self._compare_all(case, results, case.results[0]), case.executable.results, strict=True
            )
        ]
        if wrong := [f"result {n}: {each.reason}" for n, each in enumerate(found) if not each.passed]:
            raise IrcError(f"{TRITON}: not irc's result: {'; '.join(wrong)}")
        return enqueue

    def _calls(self, case: Case, name: str, work: Callable[..., Any], *, keep: bool) -> tuple[Enqueue, Sequence[Any]]:
        """What enqueues calls of a peer, and the results of a first one. IrcError where that fails."""
        kept: list[Any] = [None] * case.count

        def enqueue(number: int) -> None:
            results = work(*case.inputs[number % case.count])
            kept[number % case.count] = results if keep else None

        try:
            enqueue(0)
            self._torch.cuda.synchronize()
        except Exception as error:
            raise _failed(name, error) from error
        return enqueue, _results(kept[0])

    def check(self, case: Case) -> tuple[list[Comparison], list[Comparison]]:
        """Compares the first set's results, and what torch gives eagerly, with the body on inputs in float64."""
        wide = [tensor.double() if tensor.is_floating_point() else tensor for tensor in case.inputs[0]]
        references = _results(self._body(case, case.row.reference or case.row.torch)(*wide))
        eager = _results(self.function(case)(*case.inputs[0]))
        return self._compare_all(case, case.results[0], references), self._compare_all(case, eager, references)

    def _compare_all(self, case: Case, results: Sequence[Any], references: Sequence[Any]) -> list[Comparison]:
        elements = [spec.element for spec in case.executable.results]
        return [
            self._compare(result, reference, element)
            for result, reference, element in zip(results, references, elements, strict=True)
        ]

    def _compare(self, result: Any, reference: Any, element: str) -> Comparison:
        """As `irc.runtime.compare.compare` does, on the device, in chunks."""
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


def _failed(name: str, error: Exception) -> IrcError:
    return IrcError(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")


def _results(found: Any) -> Sequence[Any]:
    return found if isinstance(found, tuple) else (found,)


def _chunks(tensor: Any) -> Sequence[Any]:
    return tensor.reshape(-1).split(CHUNK) if tensor.numel() else ()
