"""Layouts: where the elements of a tile are, as CuTe layouts computed in Python.

`cute` has CuTe's layouts and the operations that define the others, which are in `algebra`. `fragment` spreads a tile
over threads and registers (thread-value layouts), `shared` places it in shared memory (layouts with swizzles),
`instructions` has the fragments that matrix instructions ask for, `access` describes an access to global memory.

Three analyses say what a layout costs: the widest legal vector (`access`, `traffic`), the sectors of global memory and
the wavefronts of shared memory that a warp's requests take (`requests`, and `traffic` for whole tiles). `exchange`
chooses the layout of a tile on its way from one fragment to another, `candidates` enumerates thread partitions, `cost`
weighs them and `search` chooses (docs/layout-search.md). Nothing here knows the IR, except that `access`
reads xDSL's affine maps. `irc/layout_assignment` chooses layouts, `irc/lowering` turns them into index arithmetic.
"""
