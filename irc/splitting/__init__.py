"""How split-reductions cuts a reduction that crosses tiles in two: sums, positions (argmax), products along K."""
