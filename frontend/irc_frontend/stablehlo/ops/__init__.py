"""The rules, by subject. Importing this package registers them."""

# pyright: reportUnusedImport=false

from irc_frontend.stablehlo.ops import (
    composed,
    dynamic_slices,
    elementwise,
    indexing,
    norms,
    products,
    reductions,
    shapes,
    sorting,
    windows,
)
from irc_frontend.stablehlo.rules import RULES
