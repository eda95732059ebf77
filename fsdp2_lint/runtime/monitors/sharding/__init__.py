"""What is sharded, with which options, and what becomes of the parameters."""
