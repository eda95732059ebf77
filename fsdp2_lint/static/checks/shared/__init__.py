"""What the checks of all topics ask: one program, its models, its source."""
