"""Models run. The step's subject is the module that is called, or that holds what is used."""

from __future__ import annotations

from typing import ClassVar, Literal, TypedDict

from astroid import nodes

from ....vocab.finding import Moment
from ..values import Obj, Value
from .base import AsksRanks, Counted, Event, InLoops


class Modes(TypedDict):
    """The fields of a :class:`Use` that contexts decide."""

    inference: Moment | None
    recorded: bool


class Circumstances(Modes):
    """The fields of a :class:`Use`."""

    inside: tuple[Obj, ...]
    methods: tuple[tuple[Obj, str, int], ...]
    looped: bool


class Use(InLoops):
    """Something of a model is used, and how the program came there."""

    inside: tuple[Obj, ...]  # the modules whose forward runs behind their hooks, outermost first
    methods: tuple[tuple[Obj, str, int], ...]  # that run, likewise: of whom, called what, how many calls are inside it
    looped: bool  # in a loop, here or in a caller
    inference: Moment | None  # where ``torch.inference_mode`` was entered. None: it is off
    recorded: bool  # may a backward go through it? Not under ``torch.no_grad``


class Called(Use, Counted, AsksRanks):
    """A module is called, or a method of it that runs its forward."""

    words: ClassVar[str] = "call of a module"
    method: str
    hooked: bool  # the hooks that gather its parameters run
    args: tuple[Value, ...] = ()  # of a call of the module itself
    open_why: str = ""  # why it may get more than these; empty: it gets nothing else
    written: nodes.NodeNG | None = None  # the call, where it goes past the hooks


class WeightUsed(Use):
    """A weight of a sharded module meets a plain tensor, and no forward of the module runs."""

    name: str


class Registered(Event):
    """``register_fsdp_forward_method`` is called."""

    method: object  # the name that is given. None: not known
    in_vain: bool  # the module is not sharded by then, so that nothing happens


class Unshard(Counted):
    """Parameters are gathered by hand."""

    words: ClassVar[str] = "unshard call"


class UnshardWaited(Event):
    """What ``unshard`` returned is waited for."""


class Reshard(Counted):
    """Parameters are sharded again by hand."""

    words: ClassVar[str] = "reshard call"


class ReshardingSwitched(Event):
    """When a module's parameters are sharded again is set anew, perhaps."""

    keeps: bool  # they may stay gathered after a forward
    after: Literal["forward", "backward"]


class Evaluated(Event):
    """``eval()`` is called on a module."""


class Changed(Counted):
    """A parameter of a module, the step's subject, is written in place."""

    words: ClassVar[str] = "write in place"
