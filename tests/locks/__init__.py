"""Properties that hold for programs nobody has written yet: cases from the pages, the examples and the projects."""
