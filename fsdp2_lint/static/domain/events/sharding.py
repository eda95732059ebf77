"""The plan: what is sharded, what is put around modules besides, and what becomes of their parameters.

The step's subject is the module, and where parameters are concerned the one that has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from astroid import nodes

from ..values import Obj, Value
from .base import Counted, Event
from .step import Step


class Sharded(Counted):
    """``fully_shard`` is called; the step's subject is the first of ``group``."""

    words: ClassVar[str] = "sharding call"
    group: tuple[Obj, ...]  # what was given, as far as it was followed
    listed: bool  # it was given as a list
    looped: bool  # the call stands in a loop, here or in a caller
    open_why: str  # why more may be given than ``group`` tells; empty: nothing is
    options: Mapping[str, Value]  # the keywords
    keywords: Mapping[str, nodes.NodeNG]  # where each of them is written; the call, where it came in a dict
    options_open: str  # why there may be more keywords; empty: there are none
    filtered: bool = False  # a filter that is not known decides; seen when all calls are (see ``filters``)


class Wrapped(Counted):
    """A module is put into a wrapper, such as DDP's."""

    words: ClassVar[str] = "wrapper"
    by: str  # the wrapper's class
    outer: Obj  # the wrapper


class Parallelised(Event):
    """``parallelize_module`` is applied to a module."""

    splits: bool | None  # whether its plan splits parameters. None: not known


class LayersSplit(Event):
    """Layers of a module, the step's subject, are divided among the ranks of a mesh, which all need the same input."""

    mesh: Value


class InputSplit(Event):
    """From here on the ranks may work on parts of one input: sequence, context or tensor parallelism."""

    why: str  # what is seen, such as whose call gets a process group


class Pipelined(Counted):
    """A module becomes a stage of a pipeline."""

    words: ClassVar[str] = "stage of a pipeline"
    stages: Value | None = None  # how many there are


class Checkpointed(Event):
    """Activation checkpointing is put around a module."""

    filtered_as: Step[Event] | None = None  # the call whose modules its filter lets through. None: it has no filter


class Compiled(Counted):
    """A module is compiled."""

    words: ClassVar[str] = "compilation"
    whole_graph: bool


class Exchanged(Event):
    """A collective fills or reduces parameters of a module in place."""

    name: str  # of the collective
    read: int  # the position in the trace at which the parameters were read


class Tied(Counted):
    """From here on the weights of two layers are one parameter."""

    words: ClassVar[str] = "tie of weights"
    other: Obj


class Attached(Counted):
    """A module or a parameter becomes a part of a module."""

    words: ClassVar[str] = "attached module"
    name: str  # of the attribute
    value: Obj


class Frozen(Counted):
    """Parameters of a module stop being trained, perhaps."""

    words: ClassVar[str] = "freezing of parameters"
    surely: bool = False


class Thawed(Counted):
    """Parameters of a module are trained from here on."""

    words: ClassVar[str] = "unfreezing of parameters"


class ParamHook(Counted):
    """A hook is registered on a parameter."""

    words: ClassVar[str] = "hook on a parameter"
    name: str  # of the method that registers it
    read: int  # the position in the trace at which the parameter was read


class ParamMarked(Counted):
    """A parameter gets an attribute of the program's own."""

    words: ClassVar[str] = "attribute of a parameter"
    name: str
    read: int  # the position in the trace at which the parameter was read


class ParamAsked(Event):
    """A parameter is asked for an attribute that some parameter was given."""

    name: str
    read: int  # the position in the trace at which the parameter was read
    of: str = ""  # the class whose state it is, of parameters of a class of the project


class Quantized(Event):
    """A library may load quantized weights: they carry attributes that it gave them itself."""
