"""The loader of saved executables in C: `irc.h` and its sources, which `docs/executables.md` builds."""

from __future__ import annotations

from pathlib import Path


def include_dir() -> str:
    """The folder of `irc.h` and of the C sources behind it."""
    return str(Path(__file__).parent)
