"""A training step: gradients, optimizers, and what is read off parameters on the way."""

from __future__ import annotations

from typing import ClassVar

from ....vocab.declared import record
from ..formulas import Formula
from ..path_conditions import PathCondition
from ..values import Computed, Obj, Value
from .base import AsksRanks, Counted, Event, InLoops


@record
class Held:
    """Parameters of ``model``, read at position ``read`` of the trace, on one path."""

    model: Obj
    read: int
    guard: PathCondition


class Optimizer(Counted):
    """An optimizer, the step's subject, is made, or gets more parameters."""

    words: ClassVar[str] = "optimizer"
    held: tuple[Held, ...]  # its parameters, as far as they were followed
    complete: bool  # those are all
    proven: bool  # what is made surely is an optimizer
    given: bool = False  # it came from a caller that was not seen


class HyperparameterGiven(Counted):
    """An optimizer, the step's subject, or what changes its learning rate, is given a number.

    One that is written out is told only where it changes what the optimizer has by then: some ranks may come there.
    """

    words: ClassVar[str] = "number for an optimizer"
    name: str
    value: Value  # NONE: what a scheduler makes of its own count, or of a file
    changes: bool  # a group of the optimizer is changed, by hand or by a scheduler; else something is built with it


class Remapped(Event):
    """The parameter groups of an optimizer, the step's subject, or what is in one, are exchanged."""


class Supplanted(Event):
    """The attribute that an optimizer, the step's subject, is kept in gets another optimizer."""


class Stepped(Counted, InLoops):
    """An optimizer, the step's subject, makes a step."""

    words: ClassVar[str] = "optimizer step"


class Zeroed(InLoops):
    """Gradients are cleared: of an optimizer or a model, the step's subject. None: not known of which."""


class StepGivenUp(Counted):
    """``reset_iter_state`` is called on a model, the step's subject."""

    words: ClassVar[str] = "call of reset_iter_state"


class Backward(Counted, AsksRanks, InLoops):
    """Gradients of every model called so far may be computed and reduced. The step's subject is the loss."""

    words: ClassVar[str] = "backward pass"
    name: str = "backward()"


class Clipped(Counted, InLoops):
    """Gradients are clipped; the step's subject is the first model that they belong to."""

    words: ClassVar[str] = "clipping of gradients"
    held: tuple[Held, ...]
    by: str  # the function
    bound: Value | None = None  # the norm that they are clipped to


class Sync(Counted, InLoops):
    """``set_requires_gradient_sync`` or its like is called on a model, the step's subject."""

    words: ClassVar[str] = "switch of gradient synchronisation"
    off: bool  # surely off; else it is on, or depends on the micro-batch
    on: Formula  # when it is on
    alone: bool = False  # surely for its own group, and not for those of modules inside


class BackwardSwitched(Counted, InLoops):
    """Another setter that says what a backward does is called on a model, the step's subject."""

    words: ClassVar[str] = "switch of what a backward does"
    name: str  # of the setter
    off: bool  # what a backward does as ever is surely switched off; else it is on, or depends on the micro-batch
    on: Formula  # when it does that
    alone: bool = False  # as above


class Finalized(Counted, InLoops):
    """``finalize_backward`` is called on a model, the step's subject. ``waits``: it surely returns no handle."""

    words: ClassVar[str] = "call of finalize_backward"
    waits: bool


class Divided(Counted):
    """The group of a module, the step's subject, is given the number that its gradients are divided by.

    ``scatter``: by the name of early versions, which meant the reduce-scatter alone.
    """

    words: ClassVar[str] = "divide factor of gradients"
    factor: Value | None
    scatter: bool


class Differentiated(Counted):
    """``torch.autograd.grad`` is asked for gradients of parameters; the step's subject is the first of their models."""

    words: ClassVar[str] = "call of torch.autograd.grad"
    held: tuple[Held, ...]


class GradientsHandedOn(Event):
    """What ``torch.autograd.grad`` returned, the step's subject, gets into code that was not followed."""

    who: str


class Reduced(Event):
    """Ranks reduce a tensor in place."""

    tensor: Value | None
    left: Value | None  # what the name that it was given by holds behind it, where that is told apart
    group: Value | None  # which ranks. None: all of the job
    made: int  # how many values there were by then: what has a higher number was made afterwards


class Generator(Event):
    """A generator of parameters of a model, the step's subject, is made."""

    made: int | None = None  # the number of its values, where an expression of the program makes it


class Consumed(Counted):
    """A generator of parameters is read to its end; where not ``whole``, perhaps."""

    words: ClassVar[str] = "reading of a generator"
    generator: tuple[str, int]  # ("list", the number of its values), or ("step", the position at which it was made)
    by: str
    whole: bool
    seen: bool = True  # else code that was not seen has it in hand


class Copied(Event):
    """A model, the step's subject, is copied with all that it holds."""

    by: str


class GradientScaled(Event):
    """Gradients of a model, the step's subject, are multiplied in place by a number that each rank has for itself."""

    factor: Value


class ValueRead(Event):
    """A number or a truth is made of what was computed from shards of the step's subject."""

    value: Computed
    by: str
