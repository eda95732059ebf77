"""Mixed-precision policies and resharding."""
