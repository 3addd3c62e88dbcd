"""Datasets of measured configs, which a cost model learns from: `irc-tune dataset` and `irc-tune measurements`.

`sources` says of which programs, `planning` which configs of their kernels; `building` compiles and times them, and
`rows` keeps what was found.
"""
