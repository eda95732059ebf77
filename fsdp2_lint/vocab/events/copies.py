"""Copies of models."""

from __future__ import annotations

from .base import ModelEvent


class Copied(ModelEvent):  # a module is copied as a whole; S
    by: str
