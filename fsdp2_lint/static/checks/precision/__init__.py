"""Precision: dtypes of weights and layers, policies, scalers."""

from . import producers  # noqa: F401 (they register themselves)
