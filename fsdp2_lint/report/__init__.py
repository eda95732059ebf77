"""Reports of a job: one append-only file per rank, and what they say together. No torch in here."""
