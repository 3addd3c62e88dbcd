"""Loop nests from tile programs: what `lower-to-cpu` is made of."""
