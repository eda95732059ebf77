"""What programs are described in: values, the store, path conditions, aliasing, the trace."""
