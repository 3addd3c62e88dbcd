"""The database of configs that a tuner found, and of all that it measured.

A kernel is known by its text without shapes, by its shapes, and by the class of these: a kernel whose own shapes
nobody tuned gets the config of others in its class. `chip` is the architecture that was timed. The database is a file
of SQLite in the folder of the cache (`irc/support/cache.py`), which processes may share; where the cache is off, it
lasts as long as the process. One that cannot be read is as good as empty, and a warning says so; whoever writes next
moves it aside, to a name that no other file has. Writers take turns, so that none moves what another has just made.
`IRC_TUNED=off` has compilations do without.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

from irc.support.cache import cache_folder

NAME = "tuned.sqlite"

DAMAGED = ".damaged"
"""Ends the name of a file that was moved aside."""

WAIT = 60.0
"""Seconds that a process waits for another one's writing."""

EXACT = 16
"""Extents up to which a class has one extent."""

STEPS = 8
"""Classes of greater extents between a power of two and the next."""

ALIGNED = 16
"""Multiples of it are in other classes than what lies between: copies and instructions ask for them."""

_SHAPES = re.compile(r"(?<=<)(?:\d+x)+(?=[a-z!])")
"""A shape in the text of a type."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS kernels (kernel TEXT, shapes TEXT, text TEXT, PRIMARY KEY (kernel, shapes))",
    "CREATE TABLE IF NOT EXISTS configs (kernel TEXT, shapes TEXT, class TEXT, chip TEXT, name TEXT, config TEXT, "
    "seconds REAL, heuristic REAL, made REAL, PRIMARY KEY (kernel, shapes, chip))",
    "CREATE TABLE IF NOT EXISTS trials (kernel TEXT, shapes TEXT, chip TEXT, config TEXT, outcome TEXT, reason TEXT, "
    "seconds REAL, estimate REAL, made REAL)",
    "CREATE INDEX IF NOT EXISTS classes ON configs (kernel, chip, class)",
)

T = TypeVar("T")


class Unreadable(UserWarning):
    """A database of configs is damaged, and what it had is ignored."""


@dataclass(frozen=True)
class KernelKey:
    """What a kernel is known by. kernel: a digest of its text, in which numbers stand for shapes. shapes: these, in the
    order in which they come first. text: all of it, in which the kernel and its arguments have no names."""

    kernel: str
    shapes: str
    text: str = field(compare=False)

    @staticmethod
    def of(text: str) -> KernelKey:
        numbers: dict[str, int] = {}
        structure = _SHAPES.sub(lambda shape: f"*{numbers.setdefault(shape[0], len(numbers))}", text)
        shapes = " ".join(shape.removesuffix("x") for shape in numbers)
        return KernelKey(hashlib.sha256(structure.encode()).hexdigest()[:32], shapes, text)

    @property
    def shape_class(self) -> str:
        return re.sub(r"\d+", lambda extent: _class(int(extent[0])), self.shapes)


def _class(extent: int) -> str:
    """That of an extent: an eighth of the way from a power of two to the next, and whether copies are aligned."""
    if extent <= EXACT:
        return str(extent)
    step = max(1, (1 << (extent - 1).bit_length() - 1) // STEPS)
    return f"{-(-extent // step) * step}{'' if extent % ALIGNED == 0 else '+'}"


@dataclass(frozen=True)
class TunedConfig:
    """A config that was found. seconds, heuristic: of a call with it, and with what the heuristic chooses. config: the
    text of a `#kernel.config`, without its name."""

    kernel: str
    shapes: str
    chip: str
    name: str
    config: str
    seconds: float
    heuristic: float

    @property
    def shape_class(self) -> str:
        return KernelKey(self.kernel, self.shapes, "").shape_class


@dataclass(frozen=True)
class Measurement:
    """A config that was tried. outcome: `timed`, or why it was not. estimate: seconds by the cost model."""

    config: str
    outcome: str
    reason: str
    seconds: float | None
    estimate: float | None


@dataclass(frozen=True)
class DatasetRow:
    """A measurement with the kernel that it is of: what a cost model learns from."""

    kernel: str
    shapes: str
    chip: str
    text: str
    measurement: Measurement


def lookup(key: KernelKey, chip: str) -> str | None:
    """The config of a kernel: that of its own shapes, else the newest of their class."""
    query = (
        "SELECT config FROM configs WHERE kernel = ? AND chip = ? AND (shapes = ? OR class = ?) "
        "ORDER BY shapes = ? DESC, made DESC LIMIT 1"
    )
    values = key.kernel, chip, key.shapes, key.shape_class, key.shapes
    found = _reading(lambda database: database.execute(query, values).fetchone(), None)
    return None if found is None else found[0]


def has(key: KernelKey, chip: str) -> bool:
    """Whether a kernel of just these shapes was tuned."""
    query = "SELECT 1 FROM configs WHERE kernel = ? AND chip = ? AND shapes = ?"
    return (
        _reading(lambda database: database.execute(query, (key.kernel, chip, key.shapes)).fetchone(), None) is not None
    )


def tuned_configs(chip: str | None = None) -> list[TunedConfig]:
    """All configs, or those of one chip, in the order in which they were found."""
    query = (
        "SELECT kernel, shapes, chip, name, config, seconds, heuristic FROM configs WHERE ? IN ('', chip) ORDER BY made"
    )
    rows = _reading(lambda database: database.execute(query, (chip or "",)).fetchall(), [])
    return [TunedConfig(*row) for row in rows]


def dataset() -> list[DatasetRow]:
    """All measurements, in the order in which they were made."""
    query = (
        "SELECT t.kernel, t.shapes, t.chip, k.text, t.config, t.outcome, t.reason, t.seconds, t.estimate FROM trials t "
        "JOIN kernels k ON k.kernel = t.kernel AND k.shapes = t.shapes ORDER BY t.made, t.rowid"
    )
    rows = _reading(lambda database: database.execute(query).fetchall(), [])
    return [
        DatasetRow(kernel, shapes, chip, text, Measurement(*measured)) for kernel, shapes, chip, text, *measured in rows
    ]


def keep(configs: Iterable[TunedConfig]) -> None:
    """Makes or replaces configs."""
    now = time.time()
    rows = [(c.kernel, c.shapes, c.shape_class, c.chip, c.name, c.config, c.seconds, c.heuristic, now) for c in configs]
    _writing(lambda db: db.executemany("INSERT OR REPLACE INTO configs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows))


def keep_measurements(key: KernelKey, chip: str, measurements: Sequence[Measurement]) -> None:
    """Adds to what was measured."""
    now = time.time()
    rows = [
        (key.kernel, key.shapes, chip, m.config, m.outcome, m.reason, m.seconds, m.estimate, now) for m in measurements
    ]

    def write(database: sqlite3.Connection) -> None:
        kernel = key.kernel, key.shapes, key.text
        database.execute("INSERT OR IGNORE INTO kernels VALUES (?, ?, ?)", kernel)
        database.executemany("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    _writing(write)


def stamp(chip: str) -> str:
    """Tells apart what `lookup` may say of kernels of a chip; empty where that is nothing. What is compiled depends on
    it."""
    if os.environ.get("IRC_TUNED") == "off":
        return ""
    with _lock:
        state = _state()
        if state is None:
            return ""
        if (known := _stamps.get(chip)) is not None and known[0] == state:
            return known[1]
    query = "SELECT kernel, shapes, config FROM configs WHERE chip = ? ORDER BY kernel, shapes"
    rows = _reading(lambda database: database.execute(query, (chip,)).fetchall(), [])
    found = hashlib.sha256(repr(rows).encode()).hexdigest()[:16] if rows else ""
    with _lock:
        _stamps[chip] = state, found
    return found


def path() -> Path | None:
    """The file; None where the cache is off."""
    folder = cache_folder()
    return None if folder is None else folder / NAME


_lock = threading.RLock()
_stamps: dict[str, tuple[object, str]] = {}
_warned: set[Path] = set()
_own: list[sqlite3.Connection] = []
"""The database of this process, where the cache is off."""


def _state() -> object:
    """Changes with the database; None where there is none."""
    if (file := path()) is None:
        return _own[0].total_changes if _own else None
    try:
        status = file.stat()
    except OSError:
        return None
    return file, status.st_mtime_ns, status.st_size, status.st_ino


def _reading(ask: Callable[[sqlite3.Connection], T], nothing: T) -> T:
    """What a database says; `nothing` where there is none, or it is damaged."""
    if _state() is None:
        return nothing
    try:
        with _opened() as database:
            # A file without tables is one that another process is about to fill.
            is_empty = database.execute("SELECT 1 FROM sqlite_master").fetchone() is None
            return nothing if is_empty else ask(database)
    except sqlite3.DatabaseError as error:
        _warn(error)
        return nothing


def _writing(change: Callable[[sqlite3.Connection], object]) -> None:
    """Changes the database, all at once. A damaged one is moved aside first; one that cannot be written stays."""
    try:
        with _alone():
            try:
                _changed(change)
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                _warn(error)
                _move_aside()
                _changed(change)
    except (sqlite3.DatabaseError, OSError) as error:
        _warn(error)


def _changed(change: Callable[[sqlite3.Connection], object]) -> None:
    with _opened() as database, database:
        database.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            database.execute(table)
        change(database)


@contextmanager
def _alone() -> Generator[None]:
    """Among the processes that write: as a lock, a second database that stays empty."""
    if (file := path()) is None:
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file.with_suffix(".lock"), timeout=WAIT, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def _opened() -> Generator[sqlite3.Connection]:
    file = path()
    if file is not None:
        with closing(sqlite3.connect(file, timeout=WAIT)) as database:
            yield database
        return
    with _lock:
        if not _own:
            _own.append(sqlite3.connect(":memory:", check_same_thread=False))
        yield _own[0]


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database, or one of other tables; else it is busy, on a full disk, or not ours."""
    if not isinstance(error, sqlite3.OperationalError):
        return True
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


def _move_aside() -> None:
    if (file := path()) is not None:
        file.replace(_unused(file.with_suffix(DAMAGED)))


def _unused(file: Path) -> Path:
    """The file's name, or it with the first number that no file has."""
    names = chain([file], (file.with_name(f"{file.name}{number}") for number in count(2)))
    return next(each for each in names if not each.exists())


def _warn(error: Exception) -> None:
    file = path() or Path(NAME)
    if file in _warned:
        return
    _warned.add(file)
    text = f"the tuned configs in {file} are ignored: {error}"
    if isinstance(error, sqlite3.DatabaseError) and _is_damage(error):
        text += f"; whoever tunes next moves the file to {_unused(file.with_suffix(DAMAGED)).name}"
    warnings.warn(text, Unreadable, stacklevel=4)
