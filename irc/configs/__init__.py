"""How choose-config fills a `#kernel.config`.

`product` is for matrix products: `product_instructions` says what multiplies them, `wgmma` has the plans of warp
groups, which the model of `wgmma_cycles` compares, `blocked` the rest. `memory` is for other kernels. `check` says what
the target cannot do.
"""
