"""How far the heuristic is from the best config that exhaustive tuning finds: `irc-tune exhaustive`.

`kernels` says of which kernels, `compiling` which configs are tried and makes machine code of them, `rounds` in which
order; `timing` times a kernel's, and `summary` says what was found.
"""
