"""Reproducers: a file for each error in irc, with which `irc-opt FILE --run-reproducer` fails as the compilation did.

The file is the IR before the pass that failed, below lines of comment: the passes that were left, what was printed of
the result, the versions. It is in a folder `reproducers` of the cache, or where `IRC_REPRODUCERS` or `Reports` say so;
`off` writes none. The exception has a note with the command that runs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.driver.program import new_context
from irc.driver.reports import reproducer_folder
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.support import cache
from irc.support.diagnostics import RUNS_AGAIN, InternalError, IrcError, one_line
from irc.support.files import make_directory, write_text

PREFIX = "// reproducer: "
"""Begins the line of the file that says what to run."""

PACKAGES = ("xdsl", "numpy", "llvmlite", "nvidia-cuda-nvrtc", "nvidia-cutlass", "torch")
"""Whose versions the file has, beside irc's and Python's."""


Act = Callable[[ModulePass, ModuleOp], None]


@dataclass(frozen=True)
class Reproducer:
    """What to run on the IR of the file.

    passes: a list for `irc-opt -p`. target: of `irc-opt -t`. verified: whether the IR is verified before the first pass
    and behind each. error: what was raised, a line. versions: of what ran.
    """

    passes: str
    target: str
    verified: bool
    error: str
    versions: dict[str, str] = field(default_factory=dict[str, str])


def parse_reproducer(text: str) -> Reproducer:
    """What a file says of itself; IrcError where it is no reproducer."""
    line = next((line for line in text.splitlines() if line.startswith(PREFIX)), None)
    if line is None:
        raise IrcError("this is no reproducer", None, f"the file that an internal error names has a line `{PREFIX}...`")
    try:
        return Reproducer(**json.loads(line.removeprefix(PREFIX)))
    except (ValueError, TypeError) as error:
        raise IrcError(f"cannot read what the reproducer says of itself: {error}") from error


def is_internal(error: BaseException) -> bool:
    """Whether an exception of a compilation is an error in irc."""
    if isinstance(error, IrcError):
        return isinstance(error, InternalError)
    return isinstance(error, Exception) and not isinstance(error, RecursionError | MemoryError)


class Record:
    """A module as it was, and the passes that it had since. apply, verify: what the pass manager does with each pass
    and behind it."""

    def __init__(self, module: ModuleOp, context: Context, apply: Act, verify: Act):
        self.module = module
        self._context, self._apply, self._verify = context, apply, verify
        self._origin = module.clone()
        self._had: list[ModulePass] = []

    def ran(self, entry: ModulePass) -> None:
        self._had.append(entry)

    def failed(self, error: Exception, left: Sequence[ModulePass], *, verified: bool) -> None:
        """Writes the reproducer of an error after the passes that it had, with those that are left."""
        if is_internal(error):
            _noted(error, lambda: self._written(error, left, verified))

    def _written(self, error: Exception, left: Sequence[ModulePass], verified: bool) -> str:
        passes = [*self._had, *left]
        number = self._first_invalid() if verified and isinstance(error, InternalError) else len(self._had)
        try:
            text = _readable(self._context, self._after(number))
        except Exception:  # the passes do not run again as they did, or what they leave cannot be read
            number, text = 0, _readable(self._context, self._origin)
        name = passes[number].name if number < len(passes) else "end"
        return _write(name, text, ",".join(str(each.spec()) for each in passes[number:]), "mlir", verified, error)

    def _after(self, number: int) -> ModuleOp:
        """The module as it was after the first so many passes."""
        module = self._origin.clone()
        for entry in self._had[:number]:
            self._apply(entry, module)
        return module

    def _first_invalid(self) -> int:
        """The number of the first pass that leaves what is invalid."""
        module = self._origin.clone()
        for number, entry in enumerate(self._had):
            try:
                self._apply(entry, module)
                self._verify(entry, module)
            except Exception:
                return number
        return len(self._had)


@contextmanager
def reproducing(module: ModuleOp, target: str) -> Generator[None]:
    """Writes the reproducer of an error within the block, which prints the module for a target of `irc-opt -t`."""
    try:
        yield
    except Exception as error:
        if is_internal(error):
            _noted(error, partial(_written_for, target, module, error))
        raise


def _written_for(target: str, module: ModuleOp, error: Exception) -> str:
    return _write(target.partition("{")[0], _readable(new_context(), module), "", target, False, error)


def _noted(error: Exception, write: Callable[[], str]) -> None:
    """Writes a reproducer and notes it on the error, whatever goes wrong."""
    if _folder() is None:
        return
    try:
        error.add_note(write())
    except Exception as failure:
        error.add_note(f"no reproducer was written: {one_line(failure)}")


def _folder() -> Path | None:
    """Where reproducers go, None where nobody wants any."""
    chosen = reproducer_folder() or os.environ.get("IRC_REPRODUCERS")
    if chosen is not None:
        return None if chosen in ("", "off") else Path(chosen)
    return (cache.cache_folder() or Path(tempfile.gettempdir(), "irc")) / "reproducers"


def _readable(context: Context, module: ModuleOp) -> str:
    """The text of the module, in the first form that can be read back."""
    for generic in (False, True):
        text = print_ir(module, generic=generic, locations=True)
        with suppress(IrcError):
            parse_ir(context, text, "<reproducer>")
            return text
    text = print_ir(module, generic=True)
    parse_ir(context, text, "<reproducer>")
    return text


def _write(name: str, text: str, passes: str, target: str, verified: bool, error: Exception) -> str:
    """Writes the file; the command that runs it."""
    what = Reproducer(passes, target, verified, one_line(error), _versions())
    folder = _folder()
    assert folder is not None
    digest = hashlib.sha256(f"{passes}\n{text}".encode()).hexdigest()[:10]
    path = make_directory(folder) / f"{name}-{digest}.mlir"
    write_text(path, f"{PREFIX}{json.dumps(asdict(what))}\n{text}")
    return f"{RUNS_AGAIN}{path} --run-reproducer`"


def _versions() -> dict[str, str]:
    from irc import __version__

    found = {"irc": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
