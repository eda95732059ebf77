"""What runs when a model is called."""
