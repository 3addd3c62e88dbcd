"""lower-to-cuda: tile programs become the code of one thread.

`lower_to_cuda` walks over a program and hands each op to its lowering: `memory` (loads, stores, exchanges), `compute`
(maps and changes of shape), `reduce`, `scan`, `dots` and `rings`. `emitter` builds index arithmetic that folds on the
way, `values` has what a tile is to one thread and where barriers are due, `partials` is where warps meet.
`split_offsets` is the pass behind it, on the code of a thread.
"""
