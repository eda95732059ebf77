"""Servers that keep running: for editors and for coding agents."""
