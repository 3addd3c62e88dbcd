"""How choose-config fills a `#kernel.config`.

`candidates` gives the configs of a kernel, the best first, and the first that goes with what is given. `product` is for
matrix products: `product_instructions` says what multiplies them, `wgmma` has the plans of warp groups, which the model
of `wgmma_cycles` compares, `blocked` the rest. `memory` is for other kernels. `check` says what the target cannot do.
A tuner searches a `space` of configs, which `footprint` ranks; a kernel that was tuned gets what was found (`alone`).
"""
