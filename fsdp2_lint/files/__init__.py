"""Files: which ones there are, how they are read and written, and what their text is."""
