"""Passes that make tile programs and work on them.

They run in this order. `tile_kernels` builds a program for every kernel: `groups`, `tile_groups` and `tile_sizes`
decide what is walked and in which tiles, `trace` and `stage` build the code. `merge_dots` joins products,
`place_operands` puts their operands into shared memory, `overlap_epilogue` cuts epilogues into panels,
`assign_layouts` gives every tile and buffer a layout, `pipeline` makes rings of buffers, `specialise_warps` splits
producers from consumers, `plan_shared` gives everything in shared memory its place, and `lower_schedule` turns tile
loops into block numbers. The other files are what these share.
"""
