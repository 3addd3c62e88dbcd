"""The table of builtin functions: each has a signature and an implementation that takes its `Arguments`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irc.language.arguments import Arguments
from irc.language.values import Value

Implementation = Callable[[Arguments], Value]


@dataclass(frozen=True)
class Builtin:
    """`signature` as users read it, such as `sum(x, axis=None, keepdims=false)`; a parameter with `=` is optional,
    those after `*` are given by name."""

    name: str
    signature: str
    implementation: Implementation

    def parameters(self) -> list[tuple[str, bool, bool]]:
        """(name, whether it is required, whether it may be positional) of each."""
        inside = self.signature[self.signature.index("(") + 1 : -1]
        positional, found = True, list[tuple[str, bool, bool]]()
        for part in inside.split(", ") if inside else []:
            if part == "*":
                positional = False
                continue
            found.append((part.partition("=")[0], "=" not in part, positional))
        return found


BUILTINS: dict[str, Builtin] = {}


def builtin(*signatures: str) -> Callable[[Implementation], Implementation]:
    """Registers an implementation under the names of signatures; `args.function` is the one that is called."""

    def register(implementation: Implementation) -> Implementation:
        for signature in signatures:
            name = signature.partition("(")[0]
            BUILTINS[name] = Builtin(name, signature, implementation)
        return implementation

    return register
