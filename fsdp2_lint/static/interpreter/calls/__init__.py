"""Functions, classes and objects: made, found and called."""
