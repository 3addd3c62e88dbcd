"""What passes ask of IR without changing it, and what several rooms ask.

Of nd regions: `op_classes`, `product_problem`, `reduction_problem`, `operand_work`, `whole_rows`, `costs`. Of tile
programs: `accesses` and `multiples` (addresses), `tma` and `async_copies` (which hardware copies an access), `configs`,
`in_place`, `resources`. `invariants` is what passes require and establish. `min_cut` is a graph algorithm.
"""
