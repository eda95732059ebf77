"""3xx Sharding."""
