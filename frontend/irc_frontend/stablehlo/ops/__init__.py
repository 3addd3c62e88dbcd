"""The rules, by subject. Importing this package registers them."""

from irc_frontend.stablehlo.ops import dynamic_slices, elementwise, indexing, products, reductions, shapes, sorting
from irc_frontend.stablehlo.rules import RULES

__all__ = ["RULES", "dynamic_slices", "elementwise", "indexing", "products", "reductions", "shapes", "sorting"]
