"""What irc-reduce does: edits that make IR smaller, and the search among them."""
