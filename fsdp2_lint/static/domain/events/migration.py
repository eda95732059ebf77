"""What programs still do as under FSDP1, DDP or another version of torch. The step's subject is the model."""

from __future__ import annotations

from astroid import nodes

from ...frontend.module import Module
from ...frontend.torch_api import History
from ..path_conditions import PathCondition
from .base import Event


class ApiUsed(Event):
    """A function, keyword or method is used that not every version of torch has."""

    name: str
    history: History
    written: tuple[tuple[Module, nodes.NodeNG], ...]  # the call and those that led to it
    paths: tuple[PathCondition, ...]  # of the values that a keyword may have


class ModuleRead(Event):
    """``model.module`` is read."""

    written: nodes.NodeNG


class ClassCompared(Event):
    """The class of a sharded model is compared with classes or their names."""

    names: frozenset[str]


class Fsdp1Asked(Event):
    """A sharded model is asked whether it is FSDP1's wrapper."""

    written: nodes.NodeNG
    calls: tuple[nodes.NodeNG, ...]  # that led there, outermost first


class Fsdp1Context(Event):
    """A static method of FSDP1's wrapper is given a model."""

    name: str


class Fsdp1Method(Event):
    """A model is asked for a method that FSDP1's wrapper has."""

    name: str
    goes_on: bool  # an answer of no is provided for


class UnshardEntered(Event):
    """``with`` on what ``unshard()`` returned."""


class UnshardDropped(Event):
    """A handle of an ``unshard`` that still runs, and nobody keeps it."""
