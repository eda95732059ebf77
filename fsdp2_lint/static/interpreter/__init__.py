"""The interpreter of Python; it knows nothing of any package (see ``libraries``)."""
