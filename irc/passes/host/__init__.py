"""Passes that decide what the host does."""
