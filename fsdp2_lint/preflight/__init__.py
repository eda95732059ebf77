"""Rehearses a job of any size in one CPU process."""
