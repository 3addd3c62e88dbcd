"""The builtin functions of the language; importing this package fills `BUILTINS`."""

from irc.language.functions import elementwise, indexed, linear, made, reductions, shapes
from irc.language.functions.registry import BUILTINS, Builtin

__all__ = ["BUILTINS", "Builtin", "elementwise", "indexed", "linear", "made", "reductions", "shapes"]
