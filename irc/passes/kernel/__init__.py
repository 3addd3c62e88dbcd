"""Passes that decide which ops run together and how.

They run in this order. `fuse_kernels` groups ops into `kernel.fused` regions: `fusion_graph` is what it works on, the
files `fuse_*` say what joins, `recomputation` what is cheap enough to compute twice, `outline` builds the regions.
`choose_config` fills each region's `#kernel.config`, within the limits of `check_config`, from what `product_problem`
and `reduction_problem` say of it: `choose_product` for matrix products (`product_instructions` says what multiplies
them, `choose_wgmma` has the plans of warp groups, which `wgmma_cycles` compares, `choose_blocked` the rest),
`choose_memory` for other kernels. `split_reductions` makes a reduction that crosses blocks into two kernels, with
`split_positions` an argmax, and with `split_products` a product of several parts of K.
"""
