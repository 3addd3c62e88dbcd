"""The builtin functions of the language; importing this package fills `BUILTINS`."""

from irc.language.functions import attention, elementwise, indexed, linear, made, reductions, shapes
from irc.language.functions.registry import BUILTINS, Builtin

__all__ = ["BUILTINS", "Builtin", "attention", "elementwise", "indexed", "linear", "made", "reductions", "shapes"]
