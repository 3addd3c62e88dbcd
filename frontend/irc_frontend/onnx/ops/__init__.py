"""The rules, by subject. Importing this package registers them."""

# pyright: reportUnusedImport=false

from irc_frontend.onnx.ops import (
    elementwise,
    indexing,
    making,
    norms,
    numbers,
    pools,
    products,
    quantized,
    recurrent,
    reductions,
    resizing,
    shapes,
)
from irc_frontend.onnx.rules import RULES
