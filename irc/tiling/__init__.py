"""What tile-kernels is made of: from a region of nd ops to loops over tiles.

`domains` finds the dimensions, `groups` and `tile_groups` which results share a loop, `sizes` and `boxes` the tiles.
`trace` writes a value as a function of coordinates (`nodes`, `index_maps`), `stage` emits it as tile ops (`map_body`,
`scalar_body`, `scalars`). `products` and `reductions` build the loops around it.
"""
