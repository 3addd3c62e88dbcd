"""The builtin functions of the language; importing this package fills `BUILTINS`."""

# pyright: reportUnusedImport=false

from irc.language.functions import attention, creation, elementwise, indexed, linear, reductions, shapes, windows
from irc.language.functions.registry import BUILTINS, Builtin
