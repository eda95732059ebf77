"""The groups that a plan makes, once it is complete."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer, Many
from ..finding import Moment, Place
from ..handles import Labelled
from .base import Event


class Grouping(Labelled, Protocol):
    """One group, and what lies in it."""

    def made(self) -> Answer[Moment]:
        """Where was it sharded? yes: Moment."""

    def tied_elsewhere(self) -> Many[tuple[str, Moment]]:
        """Its parameters that another group has taken already: (name, that earlier call)."""

    def tied_again(self) -> Answer[Place]:
        """Are they made one parameter again after the sharding, before the first forward? yes: where."""

    def mixed_dtypes(self) -> Answer[str]:
        """Do its trainable parameters differ in dtype? yes: the dtypes, in words."""

    def ignored_names(self) -> Many[str]:
        """Strings in ``ignored_params``, where only parameters count."""

    def ignored_trained(self) -> Answer[Place]:
        """Are parameters in ``ignored_params`` trained, and nothing reduces their gradients? yes: the optimizer."""

    def empty_shards(self) -> Answer[Place]:
        """Do some ranks hold nothing of a parameter that matters? yes: the call, and which parameters."""


class GroupSettled(Event):  # the first forward of its model begins, or the program ends; S R
    about = "group"
    group: Grouping
