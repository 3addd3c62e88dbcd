"""The rules, by subject. Importing this package registers them."""

from irc_frontend.torch.ops import (
    bessel,
    elementwise,
    functions,
    indexing,
    making,
    norms,
    pools,
    products,
    reductions,
    scans,
    shapes,
    sorting,
    special,
)
from irc_frontend.torch.ops.making import EMPTY
from irc_frontend.torch.ops.shapes import VIEWS

__all__ = [
    "EMPTY",
    "VIEWS",
    "bessel",
    "elementwise",
    "functions",
    "indexing",
    "making",
    "norms",
    "pools",
    "products",
    "reductions",
    "scans",
    "shapes",
    "sorting",
    "special",
]
