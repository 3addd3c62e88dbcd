"""Functions as arithmetic: what the passes that expand math are made of."""
