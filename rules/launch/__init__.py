"""1xx Launch and device."""
