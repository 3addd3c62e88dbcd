"""What fuse-kernels is made of.

`graph` is what it works on. `products`, `reductions` and `maps` grow kernels around their anchors, in this order;
`sink_into_consumer` moves cheap work to the kernel that reads it; `outline` builds the regions. `recomputation` says
what several kernels compute again, `prologue_cost`, `row_cost` and `returning` whether a fusion pays on the target, and
`alignment` what a later copy to aligned rows needs.
"""
