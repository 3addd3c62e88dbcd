"""The pass manager: one way to run passes, behind irc-opt, irc-compile, irc-run and Python."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import walk_tb

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError, ShrinkException

from irc.driver.pipelines import PIPELINES
from irc.driver.reports import VERIFY, Instruments
from irc.driver.reproducers import Record
from irc.ir.discardable import AFTER
from irc.ir.parser import parse_error
from irc.ir.passes import check_established, check_required
from irc.ir.targets import set_target, target_of
from irc.ir.verification import verify
from irc.support.diagnostics import IN_PASS, OF_PACKAGE, IrcError, one_line
from irc.support.garbage import seldom_collecting
from irc.support.progress import note_step
from irc.support.stack import with_room

FIRST_NOTED = PIPELINES["all"].index("split-reductions")
"""Passes up to `choose-config` find their work done where they run again, and are not noted."""


@dataclass(frozen=True)
class Step:
    """A pass to run. position: where it is in the named pipeline that it comes from, each of which continues the one
    before; None where it is named itself."""

    entry: ModulePass
    position: int | None = None


@dataclass
class PassManager:
    """Runs passes on modules, in place.

    instruments: what watches them, and says whether the module is verified behind each. checked: look whether what each
    pass requires holds. given: somebody else wrote IR below nd, of which passes can expect less: an exception of a pass
    is a diagnostic then, see `unexpected`. On IR that irc made it is an error in irc, and stays what it is, with a note
    that names the pass. So does that of a plug-in's pass, which is the plug-in's. reproduces: write a reproducer of an
    error in irc (`irc/driver/reproducers.py`).
    """

    context: Context
    instruments: Instruments = field(default_factory=Instruments)
    checked: bool = True
    given: bool = False
    reproduces: bool = True
    _record: Record | None = None

    @with_room
    def run(self, module: ModuleOp, steps: Sequence[Step], first: int = 1) -> None:
        """Runs the steps; those of a named pipeline that the module had are left out. `first` is the number of the
        first of them among those of the module. IrcError where a pass finds what it cannot do."""
        with seldom_collecting():
            self._run(module, steps, first)

    def _run(self, module: ModuleOp, steps: Sequence[Step], first: int) -> None:
        had = passes_had(module)
        todo = [
            (number, step.entry)
            for number, step in enumerate(steps, first)
            if step.position is None or step.position >= had
        ]
        for index, (number, entry) in enumerate(todo):
            with self._reproduced(module, [entry for _, entry in todo[index:]], self.instruments.verify_each) as record:
                note_step(entry.name)
                self.instruments.before(entry, module)
                self.instruments.timed(entry.name, lambda entry=entry: self._apply(entry, module))
                if record is not None:
                    record.ran(entry)
            self.instruments.after(number, entry, module)
            if self.instruments.verify_each:
                with self._reproduced(module, [entry for _, entry in todo[index + 1 :]], verified=True):
                    self.instruments.timed(VERIFY, lambda entry=entry: self._verify(entry, module))

    @with_room
    def verify_end(self, module: ModuleOp, after: str) -> None:
        """Verifies what the passes left, the last of which was `after`, unless that was done behind each."""
        if self.instruments.verify_each:
            return
        with seldom_collecting(), self._reproduced(module, [], verified=True):
            self.instruments.timed(VERIFY, lambda: verify(module, after=after))

    @contextmanager
    def _reproduced(self, module: ModuleOp, left: Sequence[ModulePass], verified: bool) -> Generator[Record | None]:
        """Within the block an error in irc gets a reproducer, with the passes that are left."""
        if self.given or not self.reproduces:
            yield None
            return
        if self._record is None or self._record.module is not module:
            self._record = Record(module, self.context, self._apply, self._verify)
        try:
            yield self._record
        except Exception as error:
            self._record.failed(error, left, verified=verified)
            raise

    def _verify(self, entry: ModulePass, module: ModuleOp) -> None:
        verify(module, after=entry.name)
        check_established(entry, module)

    def _apply(self, entry: ModulePass, module: ModuleOp) -> None:
        if self.checked:
            check_required(entry, module)
        try:
            entry.apply(self.context, module)
        except (IrcError, ShrinkException, RecursionError, MemoryError):
            raise
        except ParseError as error:
            raise parse_error(error) from error
        except DiagnosticException as error:
            raise IrcError(f"pass '{entry.name}': {_first_line(error)}") from error
        except Exception as error:
            package = package_of(entry)
            if self.given and package is None:
                raise unexpected(entry, error) from error
            error.add_note(f"{IN_PASS}'{entry.name}'" + (f"{OF_PACKAGE}{package}" if package else ""))
            raise
        note_pass(module, entry.name)


def package_of(entry: ModulePass) -> str | None:
    """The package of a pass that is a plug-in's, neither irc's nor xDSL's."""
    package = type(entry).__module__.partition(".")[0]
    return None if package in ("irc", "xdsl") else package


def unexpected(entry: ModulePass, error: Exception) -> IrcError:
    """The diagnostic of an exception of a pass on IR that somebody else wrote, at the op that the pass was at.

    What a pass relies on below nd the passes before it made, and verifiers check but a part of it. Where irc made all
    of the IR, an exception is an error in irc, and stays what it is."""
    return IrcError(
        f"pass '{entry.name}' does not expect such IR: {one_line(error)}",
        _place(error),
        "it goes on from IR as passes print it; to change a program, stop before fuse-kernels",
    )


def _place(error: Exception) -> LocationAttr | None:
    """That of the op that was worked on, as far as the functions in which the error was know one."""
    found = None
    for frame, _ in walk_tb(error.__traceback__):
        ops = [value for value in frame.f_locals.values() if isinstance(value, Operation)]
        found = next((op.location for op in ops if not isinstance(op.location, UnknownLoc)), found)
    return found


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).split("\n") if line.strip()), type(error).__name__)


def is_lowered(module: ModuleOp) -> bool:
    """Whether the module has something of a level below nd."""
    return any(op.name.startswith(("kernel.", "tile.", "cuda.", "host.", "cpu.")) for op in module.walk())


def note_pass(module: ModuleOp, name: str) -> None:
    """Notes that the module had the pass, unless it had a later one, and the architecture that it was lowered for."""
    if name in PIPELINES["all"][max(FIRST_NOTED, passes_had(module)) :]:
        set_target(module, target_of(module).name)
        module.attributes[AFTER] = StringAttr(name)


def passes_had(module: ModuleOp) -> int:
    """How many of the passes of `all` the module had, by what is noted on it. Where nothing is, a program whose shared
    memory is planned, by hand for one, had those of its level."""
    noted = module.attributes.get(AFTER)
    if noted is None:
        return len(PIPELINES["tile"]) if any(map(_is_planned, module.ops)) else 0
    if not isinstance(noted, StringAttr) or noted.data not in PIPELINES["all"]:
        raise IrcError(f"{AFTER}: expected a pass of the pipelines, found {noted}", module.location)
    return PIPELINES["all"].index(noted.data) + 1


def _is_planned(op: Operation) -> bool:
    return op.name == "tile.program" and "shared" in op.properties
