"""Copies of models."""

from __future__ import annotations

from ..handles import Model
from .base import Event


class Copied(Event):  # a module is copied as a whole; S
    about = "model"
    by: str
    model: Model
