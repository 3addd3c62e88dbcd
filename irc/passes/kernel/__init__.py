"""Passes that decide which ops run together and how.

They run in this order. `fuse_kernels` groups ops into `kernel.fused` regions: `fusion_graph` is what it works on, the
files `fuse_*` say what joins, `recomputation` what is cheap enough to compute twice, `outline` builds the regions.
`choose_config` fills each region's `#kernel.config` (`choose_product` for matrix products, `choose_wgmma` for those of
warp groups, `choose_memory` for the rest), within the limits of `check_config`. `split_reductions` makes a reduction
that crosses blocks into two kernels, and with `split_products` a product of several parts of K.
"""
