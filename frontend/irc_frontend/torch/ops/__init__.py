"""The rules, by subject. Importing this package registers them."""

# pyright: reportUnusedImport=false

from irc_frontend.torch.ops import (
    airy,
    attention,
    bags,
    bessel,
    convolutions,
    distances,
    elementwise,
    fractional_pools,
    functions,
    gamma_integrals,
    grouping,
    indexing,
    making,
    masks,
    norms,
    packed,
    polynomials,
    pools,
    products,
    reductions,
    resampling,
    sampling,
    scans,
    searching,
    shapes,
    sorting,
    special,
)
from irc_frontend.torch.ops.making import EMPTY
from irc_frontend.torch.ops.shapes import VIEWS
