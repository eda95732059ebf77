"""7xx Checkpoints."""
