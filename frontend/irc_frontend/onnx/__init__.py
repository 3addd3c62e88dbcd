"""ONNX files as programs of irc (docs/onnx.md): `load(path)` gives an `Imported`, which is called with arrays.

Nothing else in irc imports the package onnx, which the extra `onnx` installs.
"""

try:
    import onnx as _onnx
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    from irc.support.diagnostics import IrcError

    raise IrcError("ONNX files need the package onnx", hint="pip install 'irc-compiler[onnx]'") from error

from irc_frontend.onnx.ops import RULES
from irc_frontend.onnx.recorder import load

__all__ = ["RULES", "load"]

del _onnx
