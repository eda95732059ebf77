"""What else is done to models: other wrappers, tensor parallelism, checkpointing, compilation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..answers import Answer
from ..finding import Place
from .base import Event


class Composition(Protocol):
    """A module, or its parameters, at the moment at which something else takes hold of it."""

    @property
    def label(self) -> str: ...

    def sharded_before(self) -> Answer[Place]:
        """Was it, or a part of it, sharded before? yes: that call."""

    def outermost(self) -> Answer[Place]:
        """Is it the whole model, and not one block of it? yes: where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionEvent(Event):
    composition: Composition

    @property
    def subject(self) -> Composition:
        return self.composition


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedAgain(CompositionEvent):  # DDP or FSDP1 is put around a module; S R
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametersExchanged(CompositionEvent):  # a collective is called on a parameter or its gradient; S R
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorParallelised(CompositionEvent):  # parallelize_module; S
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed(CompositionEvent):  # activation checkpointing is put around a module; S
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled(CompositionEvent):  # torch.compile; S
    whole_graph: bool
