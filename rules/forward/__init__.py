"""4xx Forward."""
