"""What assign-layouts is made of: which tiles share a fragment (`spaces`), what that fragment has to suit (`problems`,
for the search of `irc/layout/search.py`), and the layouts of the buffers that products read (`operand_layouts`)."""
