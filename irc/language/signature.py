"""Functions that can be called."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block

from irc.ir.dtypes import Element


@dataclass(frozen=True)
class Signature:
    """A function: its parameters' names and types, its results' types, and its ops, in the block of a `func.func`."""

    name: str
    parameters: tuple[tuple[str, tuple[int, ...], Element], ...]
    results: tuple[tuple[tuple[int, ...], Element], ...]
    block: Block
