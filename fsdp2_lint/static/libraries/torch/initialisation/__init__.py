"""Weights that have no values yet, or get them."""
