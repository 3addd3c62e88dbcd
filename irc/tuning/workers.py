"""Processes that compile and time candidates. One that hangs is killed, one that died is replaced, and the candidate
that it had is a `Fault`."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from irc.tuning.bench import CRASHED, HUNG, MEMORY, Fault, Measured
from irc.tuning.worker import receive, send

STARTING = 60.0
"""Seconds that a process may take to start."""


@dataclass(frozen=True)
class Setup:
    """What makes a process's bench, by `module:name`. memory: bytes of address space that a process may have, None for
    any number."""

    bench: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    memory: int | None = None


class Worker:
    """A process with a bench; started when it is first asked, and again after it was lost. One thread asks at a
    time."""

    def __init__(self, setup: Setup):
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None
        self.is_warm = False
        """Whether the process has answered."""
        self.generation = 0
        """How often it was started."""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """What a method of the bench gives. Fault where it raises, hangs or ends the process."""
        found = self._exchange(self._ready(), (method, arguments), timeout)
        self.is_warm = True
        return found

    def _exchange(self, process: subprocess.Popen[bytes], message: Any, timeout: float) -> Any:
        """Sends a message; what is answered. Fault where that is one, or there is no answer in time."""
        hung = threading.Event()

        def give_up() -> None:
            hung.set()
            _kill(process)

        timer = threading.Timer(timeout, give_up)
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            send(process.stdin, message)
            found = receive(process.stdout)
        except (EOFError, OSError, ValueError):
            self.close()
            reason = Fault(HUNG, f"no answer in {timeout:.3g} s") if hung.is_set() else _death(process)
            raise reason from None
        except BaseException:  # its answer would be taken for that to the next question
            self.close()
            raise
        finally:
            timer.cancel()
        if not isinstance(found, Fault):
            return found
        if found.is_fatal:
            self.close()
        raise found

    def _ready(self) -> subprocess.Popen[bytes]:
        """The process, which has made its bench."""
        if self._process is not None and self.is_running:
            return self._process
        self.close()
        paths = [*filter(None, sys.path), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "irc.tuning.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={  # a candidate that cannot be compiled is a result
                **os.environ,
                "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
                "IRC_REPRODUCERS": "off",
            },
            start_new_session=True,  # Ctrl-C is for the one who asks
        )
        self.generation += 1
        self._exchange(self._process, (self._setup.bench, dict(self._setup.options), self._setup.memory), STARTING)
        return self._process

    def interrupt(self) -> None:
        """Ends the process, from another thread than the one that asks; the answer is a `Fault`."""
        if (process := self._process) is not None:
            _kill(process)

    def close(self) -> None:
        """Ends the process, whatever it does."""
        process, self._process, self.is_warm = self._process, None, False
        if process is None:
            return
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _death(process: subprocess.Popen[bytes]) -> Fault:
    status = process.wait()
    if status == -getattr(signal, "SIGKILL", 9):
        return Fault(MEMORY, "the process was killed, as a system without memory does")
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
    return Fault(CRASHED, f"the process ended {how}")


class Compilers:
    """Several processes that compile, side by side."""

    def __init__(self, setup: Setup, count: int):
        self._workers = [Worker(setup) for _ in range(count)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def compile(self, jobs: Sequence[Any], *, timeout: float, deadline: float) -> Iterator[tuple[int, Any]]:
        """What becomes of each job, by its number, in the order in which they are done: compiled, or a `Fault`. Those
        that are not at the deadline are left out; then what is being compiled is given up."""
        pool = ThreadPoolExecutor(len(self._workers))
        numbers = {pool.submit(self._compile, job, timeout): number for number, job in enumerate(jobs)}
        pending: set[Future[Any]] = set(numbers)
        try:
            for done in as_completed(numbers, timeout=max(0.0, deadline - time.monotonic())):
                pending.discard(done)
                yield numbers[done], done.result()
        except TimeoutError:
            return
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            if pending:
                self.interrupt()
            pool.shutdown()

    def first(self, job: Any, *, timeout: float, waits: bool) -> Any:
        """What becomes of a job. All processes that have not compiled yet do so at once, so that they have loaded what
        they need. waits: for all of them."""
        cold = [worker for worker in self._workers if not worker.is_warm]
        pool = ThreadPoolExecutor(len(self._workers))
        tries = [pool.submit(self._compile, job, timeout) for _ in cold or self._workers[:1]]
        try:
            done, _ = wait(tries, return_when=ALL_COMPLETED if waits else FIRST_COMPLETED)
            return next(each for each in tries if each in done).result()
        except BaseException:
            self.interrupt()
            raise
        finally:
            pool.shutdown(wait=False)

    def interrupt(self) -> None:
        """Gives up what is being compiled."""
        for worker in self._workers:
            worker.interrupt()

    def _compile(self, job: Any, timeout: float) -> Any:
        worker = self._idle.get()
        try:
            return worker.ask("compile", job, timeout=timeout)
        except Fault as fault:
            return fault
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


class Timing:
    """The process that times candidates. After it was lost, the next one measures the reference again first."""

    def __init__(self, setup: Setup):
        self._worker = Worker(setup)
        self._reference: Any = None
        self._referred = -1

    def refer(self, compiled: Any, timeout: float) -> Measured:
        """Measures what others are compared with."""
        self._reference = compiled
        return self._refer(timeout)

    def _refer(self, timeout: float) -> Measured:
        measured = self._worker.ask("refer", self._reference, timeout=timeout)
        self._referred = self._worker.generation
        return measured

    def _asked(self, method: str, *arguments: Any, timeout: float) -> Any:
        if self._referred != self._worker.generation or not self._worker.is_running:
            self._refer(timeout)
        return self._worker.ask(method, *arguments, timeout=timeout)

    def measure(self, compiled: Any, limit: float, timeout: float) -> Measured:
        """Fault where a candidate cannot be timed."""
        return self._asked("measure", compiled, limit, timeout=timeout)

    def rank(self, compiled: Sequence[Any], timeout: float) -> list[float | Fault]:
        """Seconds of each of several, compared with care."""
        return self._asked("rank", list(compiled), timeout=timeout)

    def close(self) -> None:
        self._worker.close()
