"""What a drawn tile program is: right on the simulator, refused by a diagnostic, or a mistake of irc's."""

from __future__ import annotations

import dataclasses
import tempfile
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numerics.drawn_tiles import Program, draw_program

import irc
from irc.driver.program import new_context
from irc.interpreters.sim import SimulationError
from irc.interpreters.tile import interpreter
from irc.ir import targets
from irc.ir.parser import parse_ir
from irc.support.diagnostics import IrcError

TOLERANCE = 2e-2
"""Of the largest value, or of 1: scores are rounded to bf16 between products."""

MISTAKES = ("internal", "does not expect such IR")
"""In diagnostics of what irc did not foresee."""

ONE_SM = {each.name: dataclasses.replace(each, sms=1) for each in targets.TARGETS}
"""Targets on which one block has all tiles of those that persist."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """verdict: "right", "refused" by one diagnostic that names the op, "wrong" (numbers), or "failed" (any other
    exception, what the simulator finds, and a diagnostic without a place). reason: the message."""

    verdict: str
    reason: str = ""

    @property
    def is_good(self) -> bool:
        return self.verdict in ("right", "refused")


def judge(seed: int, *, values: bool = False) -> Judged:
    """Compiles a drawn program for the simulator, and compares its result with what the layout-free text means."""
    program = draw_program(seed, values=values)
    (expected,) = interpreter.evaluate(parse_ir(new_context(), program.text, "drawn.mlir"), program.arguments)
    try:
        with patch.object(targets, "_by_name", lambda: ONE_SM) if values else nullcontext():
            error = np.abs(_simulated(program) - expected.astype(np.float64)).max()
    except SimulationError as error:
        return Judged("failed", f"simulator: {error}")
    except IrcError as error:
        is_named = error.location is not None and not any(words in str(error) for words in MISTAKES)
        return Judged("refused" if is_named else "failed", str(error))
    except Exception as error:
        return Judged("failed", f"{type(error).__name__}: {error}")
    bound = TOLERANCE * max(1.0, float(np.abs(expected).max()))
    return Judged("right") if error < bound else Judged("wrong", f"{error:.3g} off, of {bound:.3g} allowed")


def _simulated(program: Program) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "drawn.mlir")
        path.write_text(program.text)
        return np.asarray(irc.compile(path, target="sim")(*program.arguments)).astype(np.float64)
