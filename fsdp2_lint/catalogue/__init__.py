"""The rules by code and name, and their pages."""
