"""Ranks, collectives, and the data that each rank gets."""
