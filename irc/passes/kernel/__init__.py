"""Passes that decide which ops run together, and how."""
