"""Processes that lower the kernels of a large program side by side. They load irc while the program is on the levels
above; see `irc.driver.kernel_worker`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import IO, TYPE_CHECKING, Any, TypeVar

from irc.support.diagnostics import IrcError
from irc.support.processors import processor_count
from irc.tuning.bench import Fault
from irc.tuning.worker import receive, send

if TYPE_CHECKING:
    from irc.driver.kernel_worker import Finished, Job, Lowered, Tiling

ResultT = TypeVar("ResultT")

MOST = 16
"""Processes without the variable."""

WORTH = 300
"""Ops of a program on arrays from which on processes are worth their start: the lowering of fewer takes less than a
second."""


START = "import gc; gc.disable(); from irc.driver.kernel_worker import main; main()"
"""They end with the compilation: nothing looks for garbage, nor between the modules that they load."""


LONGEST = 120.0
"""Seconds in which a process answers; the first answer has its start in it."""


class Lost(Exception):
    """A process could not be started, ended, or failed."""


class Failed(Lost):
    """A process met an error, which its text says."""


def process_count() -> int:
    """How many processes lower kernels: what `IRC_PROCESSES` says, else as many as this process has processors, at most
    `MOST`. 1 where this process alone does."""
    given = os.environ.get("IRC_PROCESSES")
    if given is not None and not (given.isdecimal() and int(given)):
        raise IrcError(f"IRC_PROCESSES: expected a number of processes from 1 on, found {given!r}")
    if not hasattr(os, "fork") or not sys.executable:
        return 1
    return min(processor_count(), MOST) if given is None else int(given)


class _Process:
    """One that lowers kernels; threads that ask wait for each other."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._lock = threading.Lock()
        connection.settimeout(LONGEST)
        self._requests: IO[bytes] = connection.makefile("wb")
        self._answers: IO[bytes] = connection.makefile("rb")

    def ask(self, method: str, *arguments: Any) -> Any:
        try:
            with self._lock:
                send(self._requests, (method, arguments))
                found = receive(self._answers)
        except (EOFError, OSError, ValueError) as error:
            raise Lost("the process ended, or does not answer") from error
        if isinstance(found, Fault):
            raise Failed(found.reason)
        return found

    @property
    def is_busy(self) -> bool:
        """Whether a thread waits for an answer."""
        return self._lock.locked()

    def close(self) -> None:
        for each in (self._requests, self._answers, self._connection):
            with suppress(OSError):
                each.close()


class KernelProcesses:
    """Kernels that are lowered side by side, each in one of several processes."""

    def __init__(self, count: int):
        pairs = [socket.socketpair() for _ in range(count)]
        self._processes = [_Process(own) for own, _ in pairs]
        self._holders: dict[int, _Process] = {}
        """Of each job, who has lowered it."""
        self._beside, self._texts = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        """One program is lowered at a time: kernels of several have the same names. Texts do not wait for that."""
        paths = [*filter(None, sys.path), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        try:
            self._root = subprocess.Popen(
                [sys.executable, "-c", START, *(str(other.fileno()) for _, other in pairs)],
                pass_fds=[other.fileno() for _, other in pairs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
                    "OPENBLAS_NUM_THREADS": "1",  # the process is forked, and has no other threads then
                    "OMP_NUM_THREADS": "1",
                },
                start_new_session=True,  # Ctrl-C is for the one who asks
            )
        except OSError as error:
            raise Lost(str(error)) from error
        finally:
            for _, other in pairs:
                other.close()

    def beside(self, run: Callable[[], ResultT]) -> Callable[[], ResultT]:
        """Runs what lowers a program in a thread, behind those before it, and gives what waits for the result."""
        return self._beside.submit(copy_context().run, run).result

    def text(self, module: bytes, behind: Callable[[], object]) -> Callable[[], str]:
        """Has a packed module printed when something has been waited for, and gives what waits for the text."""

        def text() -> str:
            behind()
            return self._processes[-1].ask("text", module)

        return self._texts.submit(text).result

    def tile(self, tilings: Sequence[Tiling]) -> list[bytes]:
        """The packed programs of kernels, in order."""
        return self._each("tile", tilings, [len(each.kernel) for each in tilings], lambda number, program: None)[0]

    def lower(self, jobs: Sequence[Job], lowered: Callable[[int, Lowered], object]) -> list[Lowered]:
        """The jobs, in order. `lowered` is called with the number of each and what became of it, when that is known."""
        found, self._holders = self._each("lower", jobs, [len(job.program) for job in jobs], lowered)
        return found

    def _each(
        self, method: str, arguments: Sequence[Any], sizes: Sequence[int], made: Callable[[int, Any], object]
    ) -> tuple[list[Any], dict[int, _Process]]:
        """What the method gives for each of the arguments, in order, and which process was asked; those with the most
        to do are begun first. `made` is called with the number of each and what the method gave. Processes that do
        something else are asked where all do."""
        found: dict[int, Any] = {}
        asked: dict[int, _Process] = {}
        left = iter(sorted(range(len(arguments)), key=lambda number: -sizes[number]))
        lock = threading.Lock()

        def work(process: _Process) -> None:
            while True:
                with lock:
                    number = next(left, None)
                if number is None:
                    return
                found[number] = process.ask(method, arguments[number])
                asked[number] = process
                made(number, found[number])

        self._at_once(work, [each for each in self._processes if not each.is_busy] or self._processes)
        return [found[number] for number in range(len(arguments))], asked

    def finish(
        self, kernels: Sequence[tuple[int, str, int, Collection[int]]], finished: Callable[[int, Finished], object]
    ) -> None:
        """Finishes the kernels of jobs, in order: the number of the job, and what `Lowering.finish` takes. `finished`
        is called with the number and what became of it."""

        def work(process: _Process) -> None:
            for number, *arguments in kernels:
                if self._holders[number] is process:
                    finished(number, process.ask("finish", *arguments))

        self._at_once(work, self._processes)

    def _at_once(self, work: Callable[[_Process], None], processes: Sequence[_Process]) -> None:
        """Does the work of these processes. Lost where one does not."""
        with ThreadPoolExecutor(len(processes)) as pool:
            working = [pool.submit(work, process) for process in processes]
            try:
                for each in working:
                    each.result()
            except BaseException:
                self.kill()
                raise

    def kill(self) -> None:
        """Ends the processes, whatever they do: what waits for them is lost."""
        with suppress(OSError):
            os.killpg(self._root.pid, signal.SIGKILL)

    def close(self) -> None:
        """Ends the processes, when the programs that were begun are lowered."""
        try:
            for pool in (self._beside, self._texts):
                pool.shutdown()
        finally:
            self.kill()
            self._root.wait()
        for process in self._processes:
            process.close()


class _Shared:
    """The processes of several programs, which are started when all of these together are worth it."""

    def __init__(self) -> None:
        self._ops = 0
        self._processes: KernelProcesses | None = None

    def of(self, ops: int) -> KernelProcesses | None:
        """Those for one more program, of so many ops."""
        self._ops += ops
        if self._processes is None and self._ops >= WORTH:
            self._processes = _started()
        return self._processes

    @contextmanager
    def closing(self) -> Generator[None]:
        """The processes end with the block, at once where it ends by an exception."""
        try:
            yield
        except BaseException:
            if self._processes is not None:
                self._processes.kill()
            raise
        finally:
            if self._processes is not None:
                self._processes.close()


_shared: ContextVar[_Shared | None] = ContextVar("irc_kernel_processes", default=None)


@contextmanager
def sharing_processes() -> Generator[None]:
    """Programs that this thread compiles in the block share their processes."""
    if _shared.get() is not None:
        yield
        return
    shared = _Shared()
    token = _shared.set(shared)
    try:
        with shared.closing():
            yield
    finally:
        _shared.reset(token)


@contextmanager
def kernel_processes(ops: int) -> Generator[KernelProcesses | None]:
    """Within the block there are processes for a program of so many ops; None where they are not worth it, and where
    the system has none."""
    if (shared := _shared.get()) is not None:
        yield shared.of(ops)
        return
    alone = _Shared()
    with alone.closing():
        yield alone.of(ops)


def _started() -> KernelProcesses | None:
    count = process_count()
    if count == 1:
        return None
    try:
        return KernelProcesses(count)
    except Lost:
        return None
