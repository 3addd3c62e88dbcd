"""The patterns of canonicalize-nd, a file for each family of ops, and what they share."""
