"""The last pass: what the host does.

`build_host_plan` replaces the entry function by one static `cuda.plan`: `schedule` orders the launches over streams,
`arena` gives every intermediate array its place in one block of memory.
"""
