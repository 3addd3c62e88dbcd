"""What each level means, in numpy."""
