"""What the levels share about sums that blocks add up part by part."""

SEMAPHORE_ELEMENTS = 8
"""Elements of an array along a dimension of a tile for each semaphore, a word that says which part is added to it next:
tiles, and parts of them that are stored by themselves, begin at multiples."""
