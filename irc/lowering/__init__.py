"""What lower-to-cuda is made of: the code of one thread for each tile op.

`memory` is loads, stores and exchanges, `compute` maps and changes of shape, then `reduce`, `scan`, `dots`, `channels`.
`emitter` builds index arithmetic that folds on the way, `values` has what a tile is to one thread and where barriers
are due, `partials` is where warps meet.
"""
