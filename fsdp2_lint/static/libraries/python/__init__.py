"""Python's own library, and packages that make, copy or look at plain objects."""
