"""The process and its device."""
