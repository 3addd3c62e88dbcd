"""The rules, by subject. Importing this package registers them."""

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

__all__ = [
    "RULES",
    "elementwise",
    "indexing",
    "making",
    "norms",
    "numbers",
    "pools",
    "products",
    "quantized",
    "recurrent",
    "reductions",
    "resizing",
    "shapes",
]
