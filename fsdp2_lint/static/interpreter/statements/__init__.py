"""Statements, assignments and loops, and what is done where one is not understood."""
