"""What fuse-kernels is made of.

`graph` is what it works on. `products`, `reductions` and `maps` grow kernels around their anchors, in this order;
`sink_into_consumer` moves cheap work to the kernel that reads it; `outline` builds the regions. `repeated` says
what several kernels compute again, and `recomputation` makes the copies of it that reductions get. `prologue_cost`,
`row_cost` and `returning` say whether a fusion pays on the target, and `alignment` what a later copy to aligned rows
needs.
"""
