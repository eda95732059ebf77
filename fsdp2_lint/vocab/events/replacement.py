"""Parameters are replaced by ``fully_shard``, and what was tied to the old ones is gone."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from ..handles import Labelled
from .base import Event


class Replacement(Labelled, Protocol):
    """The parameters that one call replaced, as their program goes on to use them."""

    def hooks_lost(self) -> Answer[Place]:
        """Were gradient hooks registered on the old ones, and is the model trained? yes: where, and which."""

    def attributes_lost(self) -> Answer[Place]:
        """Is an attribute read that was set on the old ones? yes: where it is read, and its name."""

    def state_lost(self) -> Answer[str]:
        """Was that attribute the state of parameters of a class of their own? yes: the class, in words."""

    def aliases_used(self) -> Answer[Place]:
        """Are the old ones used, as those of the model? yes: where, and for what."""


class ParametersReplaced(Event):  # one call of fully_shard, once its model is trained; S R
    about = "replacement"
    replacement: Replacement
