"""irc-bench: the speed of generated kernels beside their peers and their limits, on the GPU that is present."""
