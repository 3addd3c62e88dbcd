"""What nd means, a file for each family of ops."""
