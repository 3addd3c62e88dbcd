"""What is reduced, and the command that says what is interesting."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from xdsl.dialects.builtin import ModuleOp

from irc.driver.program import parse
from irc.driver.reproducers import PREFIX
from irc.ir.printer import print_ir
from irc.ir.verification import verify
from irc.support.diagnostics import IrcError, register_source
from irc.support.files import read_text


@dataclass(frozen=True)
class ReducedProgram:
    """A module, and how its candidates are printed. header: the line of a reproducer, which stays. generic, locations:
    see `print_ir`."""

    module: ModuleOp
    header: str
    generic: bool = False
    locations: bool = False

    @classmethod
    def read(cls, path: Path, dims: dict[str, int]) -> ReducedProgram:
        """A file. IrcError where it cannot be read, or is invalid."""
        text = read_text(path)
        register_source(str(path), text)
        module = parse(text, str(path), dims=dims)
        verify(module)
        return cls(module, "".join(line for line in text.splitlines(keepends=True) if line.startswith(PREFIX)))

    def text(self, module: ModuleOp) -> str:
        return self.header + print_ir(module, generic=self.generic, locations=self.locations)

    def accepted(self, test: Test) -> ReducedProgram:
        """This, printed in a form that the test accepts: without locations, if it can be. IrcError where there is
        none."""
        for locations, generic in ((False, False), (True, False), (True, True)):
            found = replace(self, generic=generic, locations=locations)
            if test.accepts(found.text(self.module)):
                return found
        raise IrcError(
            f"the test does not accept the input: exit status {test.status}",
            None,
            f"`{test.command_of('FILE')}` has to exit with 0 for what is to be kept",
        )


class Test:
    """A command that is asked about texts; a context, behind which its folder is gone. timeout: seconds of one run."""

    def __init__(self, command: str, timeout: float):
        self._command, self._timeout = command, timeout
        self._folder = tempfile.TemporaryDirectory(prefix="irc-reduce-")
        self.status: int | str = 0
        """Of the last run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._folder.cleanup()

    def command_of(self, file: str) -> str:
        return self._command.replace("{}", file) if "{}" in self._command else f"{self._command} {file}"

    def accepts(self, text: str) -> bool:
        path = Path(self._folder.name, "candidate.mlir")
        path.write_text(text, encoding="utf-8")
        environment = {**os.environ, "IRC_REPRODUCERS": "off"}
        process = subprocess.Popen(
            self.command_of(shlex.quote(str(path))),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # what it started ends with it
        )
        try:
            self.status = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            self.status = f"none in {self._timeout:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return self.status == 0
