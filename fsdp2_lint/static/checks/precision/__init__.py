"""Precision: dtypes of weights and layers, policies, scalers."""

from . import producers

__all__ = ["producers"]
