"""What the cpu backend leaves to the interpreter."""

from __future__ import annotations


class Unsupported(Exception):
    """A program that has no loop nest so far; the message says what in it has none."""
