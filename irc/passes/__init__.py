"""The passes, one file each, by the level that they work on. `irc/driver/pipelines.py` has their order."""
