"""Passes that make tile programs and work on them."""
