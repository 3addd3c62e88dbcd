"""A piece of the prelude."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """C++ text that defines `name`, for which the snippets of `needs` have to come first."""

    name: str
    text: str
    needs: tuple[str, ...] = ()


def placeholders(first: int, count: int) -> str:
    """The operands of an asm statement from a number on, as a PTX vector."""
    return "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"
