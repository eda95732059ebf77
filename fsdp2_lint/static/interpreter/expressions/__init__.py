"""Names, items, operators, conditions, and what iterating over something gives."""
