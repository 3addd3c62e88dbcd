"""The rules, by subject. Importing this package registers them."""

from irc_frontend.torch.ops import (
    attention,
    bessel,
    convolutions,
    distances,
    elementwise,
    functions,
    indexing,
    making,
    masks,
    norms,
    pools,
    products,
    reductions,
    scans,
    searching,
    shapes,
    sorting,
    special,
)
from irc_frontend.torch.ops.making import EMPTY
from irc_frontend.torch.ops.shapes import VIEWS

__all__ = [
    "EMPTY",
    "VIEWS",
    "attention",
    "bessel",
    "convolutions",
    "distances",
    "elementwise",
    "functions",
    "indexing",
    "making",
    "masks",
    "norms",
    "pools",
    "products",
    "reductions",
    "scans",
    "searching",
    "shapes",
    "sorting",
    "special",
]
