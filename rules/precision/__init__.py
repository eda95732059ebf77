"""5xx Precision."""
