"""Writing of files so that no reader ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from irc.support.diagnostics import IrcError


@contextmanager
def written_aside(path: Path) -> Generator[IO[bytes]]:
    """A file to write, which takes the name `path` when the block ends without an exception, and vanishes otherwise.

    An existing file that is not a regular one (a pipe, `/dev/stdout`) is written directly. Errors of the file system
    are `IrcError`s that name the path.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    aside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        aside.chmod(0o666 & ~_umask())
        aside.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Writes a UTF-8 text file: all of it or nothing."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file: all of it or nothing."""
    with written_aside(path) as file:
        file.write(content)


def read_text(path: Path) -> str:
    """The UTF-8 text of a file; an `IrcError` that names it where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise IrcError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise IrcError(f"cannot read {path}: not UTF-8 text (byte {error.start})") from error
    except ValueError as error:
        raise IrcError(f"cannot read {str(path)!r}: {error}") from error


def read_bytes(path: Path) -> bytes:
    """The content of a file; an `IrcError` that names it where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise IrcError(f"cannot read {path}: {error.strerror or error}") from error


def make_directory(path: Path) -> Path:
    """Creates a directory and its parents where they are not there; returns it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    return path


def cannot_write(path: Path, error: OSError | ValueError) -> IrcError:
    """The diagnostic for an output that cannot be written."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return IrcError(f"cannot write {path}: {reason}")
