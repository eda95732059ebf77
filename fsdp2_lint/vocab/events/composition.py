"""What else is done to models: other wrappers, tensor parallelism, checkpointing, compilation."""

from __future__ import annotations

from typing import Protocol

from ..answers import Answer
from ..finding import Place
from ..handles import Labelled
from .base import Event


class Composition(Labelled, Protocol):
    """A module, or its parameters, at the moment at which something else takes hold of it."""

    def sharded_before(self) -> Answer[Place]:
        """Was it, or a part of it, sharded before? yes: that call."""

    def outermost(self) -> Answer[Place]:
        """Is it the whole model, and not one block of it? yes: where it is."""


class CompositionEvent(Event):
    about = "composition"
    composition: Composition


class WrappedAgain(CompositionEvent):  # DDP or FSDP1 is put around a module; S R
    by: str


class ParametersExchanged(CompositionEvent):  # a collective is called on a parameter or its gradient; S R
    name: str


class TensorParallelised(CompositionEvent):  # parallelize_module; S
    pass


class Checkpointed(CompositionEvent):  # activation checkpointing is put around a module; S
    pass


class Compiled(CompositionEvent):  # torch.compile; S
    whole_graph: bool
