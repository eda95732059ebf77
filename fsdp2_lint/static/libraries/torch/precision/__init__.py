"""Dtypes, policies, scalers."""
