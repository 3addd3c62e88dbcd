"""What decompose-nd writes composed ops as, a file for each family."""
