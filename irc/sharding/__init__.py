"""Programs divided among the ranks of a mesh: how each op may be divided, how values are, and each rank's program."""
