"""What is done about findings: fixes, comments that silence them, and whether an edit mended them."""
