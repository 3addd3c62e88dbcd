"""What the levels share about sums that blocks add up in turn."""

TURN_ELEMENTS = 8
"""Elements of an array along a dimension of a tile for each word that says whose turn it is to add to it: tiles, and
parts of them that are stored by themselves, begin at multiples."""
