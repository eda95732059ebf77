"""State dicts: where their tensors come from, what is saved and loaded."""
