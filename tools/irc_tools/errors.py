"""What every command does with an exception: one message on stderr and exit status 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from irc.support.diagnostics import IN_PASS, OF_PACKAGE, IrcError, one_line, render


def guarded(command: str, run: Callable[[], int], *, debug: bool = False) -> int:
    """Runs a command; returns its exit status, or 1 after printing the diagnostic of what went wrong.

    An exception that is not a diagnostic is an error in irc: it is named in one line, with its traceback when `debug`
    is set or the environment has `IRC_DEBUG`.
    """
    try:
        return run()
    except IrcError as error:
        print(render(error), file=sys.stderr)
        if debug or os.environ.get("IRC_DEBUG"):
            raise
        return 1
    except BrokenPipeError:
        # The reader of stdout has gone; Python would fail again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"{command}: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return 1
    except Exception as error:
        print(render(internal_error(error)), file=sys.stderr)
        if debug or os.environ.get("IRC_DEBUG"):
            raise
        return 1


def internal_error(error: Exception) -> IrcError:
    """An exception that no diagnostic foresaw: an error in irc (or in xDSL), or in a plug-in, not in the input. Its
    first note says in which pass, others are notes of the diagnostic."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    where = next((note for note in notes if note.startswith(IN_PASS)), "")
    package = where.partition(OF_PACKAGE)[2]
    what = where.removeprefix("in ") if package else f"internal error {where}".rstrip()
    shown = IrcError(
        f"{what}: {one_line(error)}",
        None,
        f"this is an error in {package or 'the compiler'}; IRC_DEBUG=1 shows where",
    )
    for note in notes:
        if note != where:
            shown.add_note(note)
    return shown
