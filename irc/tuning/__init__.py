"""How a kernel's config is searched for, whatever the kernel and whatever times it.

`search` says which configs to try next, by what was measured of others. `workers` are processes that compile and time
candidates and may hang or die; `worker` is their side of it, where a `Bench` (`bench`) does the work. `session` puts
these together: generations, the log, the final comparison, what goes into the database.
"""
