"""What the ranks do together."""
