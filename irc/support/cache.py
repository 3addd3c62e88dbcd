"""The on-disk cache of whole compilations.

A key is a SHA-256 over everything that a compilation depends on: the program, the target, the options, irc's own
source, and the versions of what makes code of it. Entries are single files, a checksum before the content, that are
written aside and renamed, so that processes may share the folder; one that cannot be read counts as absent, one that is
damaged too, with a warning, and a folder that cannot be written, or a full disk, is no error. The folder is
`$IRC_CACHE_DIR`, else `$XDG_CACHE_HOME/irc`, else `~/.cache/irc`; `IRC_CACHE_DIR=off` turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
"""irc's own source."""

MAX_BYTES = 1 << 30
"""Of all entries of one kind; the ones that were used least recently go first."""

LOOKS = 64
"""How often a process looks through a folder while it writes `MAX_BYTES` to it, beside the first time: a look at each
entry for each kernel of a model takes longer than to compile it."""


def cache_folder() -> Path | None:
    """Where entries are kept; None where the cache is off or there is no home."""
    if (chosen := os.environ.get("IRC_CACHE_DIR")) is not None:
        return None if chosen in ("", "off") else Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "irc"
    try:
        return Path.home() / ".cache" / "irc"
    except RuntimeError:
        return None


@cache
def source_digest() -> str:
    """A digest of every source file of the package: a changed compiler misses the cache."""
    digest = hashlib.sha256()
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.lark")]):
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def versions() -> str:
    """Those of the packages that code depends on."""
    found: list[str] = []
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


_PACKAGES = ("xdsl", "llvmlite", "numpy", "scipy", "ml_dtypes", "nvidia-cuda-nvrtc")


class Damaged(UserWarning):
    """An entry of the cache is not what was written, and is ignored."""


def key_of(*parts: object) -> str:
    """The key for these parts (their `repr`s), under this version of irc."""
    digest = hashlib.sha256(source_digest().encode())
    for part in (versions(), *parts):
        text = repr(part).encode("utf-8", "surrogatepass")
        digest.update(f"{len(text)}:".encode())
        digest.update(text)
    return digest.hexdigest()


def read(kind: str, key: str) -> bytes | None:
    """The content of an entry; None where there is none, or a damaged one."""
    if (path := _path(kind, key)) is None:
        return None
    try:
        stored = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    checksum, content = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
    if _checksum(content) == checksum:
        return content
    warnings.warn(f"the entry {path} of irc's cache is damaged, and ignored", Damaged, stacklevel=3)
    return None


def write(kind: str, key: str, content: bytes) -> None:
    """Makes or replaces an entry, if the folder lets it."""
    if (path := _path(kind, key)) is None:
        return
    with suppress(OSError):
        publish(path, _checksum(content) + content)
        if _is_due(path.parent, len(content)):
            _prune(path.parent)


def publish(path: Path, content: bytes) -> None:
    """Writes a file of the folder aside, and renames it. OSError where that cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, aside = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink()
        raise


_CHECKSUM_BYTES = 32


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _path(kind: str, key: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / kind / key


_left: dict[Path, int] = {}
"""By folder, the bytes that this process writes before it looks through it again; threads may lose some."""


def _is_due(folder: Path, size: int) -> bool:
    """Whether the folder is to be looked through behind a write of so many bytes."""
    left = _left.get(folder, 0) - size
    _left[folder] = left if left > 0 else MAX_BYTES // LOOKS
    return left <= 0


def _prune(folder: Path) -> None:
    """Removes the entries used least recently until the rest is within `MAX_BYTES`."""
    entries: list[tuple[float, int, str]] = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry.path))
    excess = sum(size for _, size, _ in entries) - MAX_BYTES
    for _, size, path in sorted(entries):
        if excess <= 0:
            return
        with suppress(OSError):
            Path(path).unlink()
        excess -= size
