"""Layouts: where the elements of a tile are, as CuTe layouts computed in Python.

`fragment` spreads a tile over threads and registers, `shared` places it in shared memory and counts bank conflicts,
`instructions` has the fragments that matrix instructions ask for, `exchange` chooses the layout of a tile on its way
from one fragment to another, and `access` finds the vectors that an access to global memory allows. Nothing here knows
the IR, except that `access` reads xDSL's affine maps. `irc/passes/tile` chooses layouts, `irc/passes/cuda` turns them
into index arithmetic.
"""
