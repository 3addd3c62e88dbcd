"""What all levels share: element types, locations, parsing, printing, verification, rewriting, targets.

`targets` has the facts of the architectures and the attribute of a module that names its own. `functions` finds the
function that is compiled, `donation` the arguments whose memory results get. `rounding`, `philox` and `neutral` are
arithmetic that several levels have to agree on.
"""
