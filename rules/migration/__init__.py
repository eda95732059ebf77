"""9xx Migration."""
