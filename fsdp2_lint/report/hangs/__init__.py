"""Ranks that stand still or have gone, by what they and others wrote down of them."""
