"""8xx Collectives and data."""
