"""2xx Initialisation."""
