"""The builtin functions of the language; importing this package fills `BUILTINS`."""

from irc.language.functions import attention, creation, elementwise, indexed, linear, reductions, shapes, windows
from irc.language.functions.registry import BUILTINS, Builtin

__all__ = [
    "BUILTINS",
    "Builtin",
    "attention",
    "creation",
    "elementwise",
    "indexed",
    "linear",
    "reductions",
    "shapes",
    "windows",
]
