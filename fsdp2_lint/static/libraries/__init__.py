"""What torch and other packages do, in terms of the interpreter; the only place that knows their names."""
