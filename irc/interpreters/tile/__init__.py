"""What tile programs mean."""
