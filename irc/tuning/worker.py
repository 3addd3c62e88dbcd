"""The process that compiles or times candidates: `python -m irc.tuning.worker`.

It reads requests from its standard input and writes answers to its standard output, each a pickle behind its length.
What a candidate prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

from irc.support.diagnostics import IrcError
from irc.tuning.bench import FAILED, MEMORY, Fault

LENGTH_BYTES = 8

LONGEST_REASON = 300

NO_MEMORY = ("out of memory", "not enough device memory", "does not fit in memory")
"""In diagnostics of what does not fit."""


def send(stream: IO[bytes], message: Any) -> None:
    content = pickle.dumps(message)
    stream.write(len(content).to_bytes(LENGTH_BYTES, "little") + content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message. EOFError where there is no whole one."""
    length = stream.read(LENGTH_BYTES)
    content = stream.read(int.from_bytes(length, "little")) if len(length) == LENGTH_BYTES else b""
    if not content:
        raise EOFError
    return pickle.loads(content)


def limit_memory(size: int | None) -> None:
    """Of the address space of this process, where the system has such a limit."""
    if size is None:
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def answer(bench: Any, method: str, arguments: tuple[Any, ...]) -> Any:
    """What the bench says, or the `Fault` of the candidate."""
    try:
        return getattr(bench, method)(*arguments)
    except Fault as fault:
        return fault
    except MemoryError:
        return Fault(MEMORY, "out of memory")
    except IrcError as error:
        is_full = any(words in error.message for words in NO_MEMORY)
        return Fault(MEMORY if is_full else FAILED, error.message[:LONGEST_REASON])
    except Exception as error:
        return Fault(FAILED, " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON])


def made(bench: str, options: Mapping[str, Any]) -> Any:
    """The bench that `module:name` makes."""
    module, _, name = bench.partition(":")
    return getattr(import_module(module), name)(**options)


def main() -> None:
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    name, options, memory = receive(requests)
    limit_memory(memory)
    try:
        bench = made(name, options)
    except Exception as error:
        send(answers, Fault(FAILED, " ".join(f"{type(error).__name__}: {error}".split()), is_fatal=True))
        return
    send(answers, None)
    while True:
        try:
            method, arguments = receive(requests)
        except EOFError:
            return
        found = answer(bench, method, arguments)
        send(answers, found)
        if isinstance(found, Fault) and found.is_fatal:
            return


if __name__ == "__main__":
    main()
