"""How a job comes under the monitor: programs, the ranks that they start, and ranks of our own."""
