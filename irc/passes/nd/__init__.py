"""Passes on whole arrays, before anything is decided about kernels."""
