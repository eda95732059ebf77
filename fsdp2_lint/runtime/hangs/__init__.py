"""Ranks that stand still: a thread that looks, heartbeats, and stacks that need no interpreter's lock."""
