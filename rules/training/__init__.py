"""6xx Optimizer and step."""
