"""A piece of the prelude."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """C++ text that defines `name`, for which the snippets of `needs` have to come first."""

    name: str
    text: str
    needs: tuple[str, ...] = ()
