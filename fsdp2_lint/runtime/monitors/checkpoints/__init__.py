"""State dicts, saves and loads."""
