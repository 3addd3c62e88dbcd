"""Passes that make the code of a thread, and work on it."""
