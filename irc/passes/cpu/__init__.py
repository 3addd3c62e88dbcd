"""Passes on the loop nests of the cpu level, and to them."""
