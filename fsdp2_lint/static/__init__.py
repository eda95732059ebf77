"""The static witness: a whole-program interpreter that never runs what it reads."""
