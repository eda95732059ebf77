"""Models, groups and their parts, as several topics ask them."""
