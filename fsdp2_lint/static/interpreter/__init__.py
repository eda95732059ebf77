"""The interpreter of Python; it knows nothing of torch (see ``torch_model``)."""
