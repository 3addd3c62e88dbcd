"""Passes on whole arrays, before anything is decided about kernels.

`canonicalize_nd` simplifies (its patterns are in the files `canonicalize_*`, `fold_constants`, `simplify`, `terms`
and `value_numbering`), `decompose_nd` writes composed ops such as norms and softmax in simpler ones (the files
`decompose_*`), and `widen_arithmetic` makes every rounding an `nd.cast`. The `nd` pipeline in `irc/driver/pipelines.py`
says in which order they run.
"""
