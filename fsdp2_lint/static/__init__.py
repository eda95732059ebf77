"""The static analysis: a whole-program interpreter that never runs what it reads."""
