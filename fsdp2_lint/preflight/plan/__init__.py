"""How a model is sharded, what that takes on each rank, and what it sends."""
