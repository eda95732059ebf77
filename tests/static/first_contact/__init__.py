"""What the first contact with unseen code taught, by its roots: each in several shapes, beside twins that differ."""
