"""The rules, by subject. Importing this package registers them."""

from irc_frontend.stablehlo.ops import elementwise, indexing, products, reductions, shapes
from irc_frontend.stablehlo.rules import RULES

__all__ = ["RULES", "elementwise", "indexing", "products", "reductions", "shapes"]
