"""What is saved and loaded, and by which functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from astroid import nodes

from ....vocab.finding import Moment
from ..path_conditions import PathCondition
from ..values import DictV, Obj, StateDict, Value
from .base import AsksRanks, Counted, Event, InLoops


class Saved(Counted):
    """``torch.save`` or one of its kin writes a file."""

    words: ClassVar[str] = "save"
    payload: Value
    path: Value
    by: str
    chosen_by: tuple[str, ...] = ()  # what may write on some ranks only: decorators that were not followed, the writer
    own: bool = False  # the writer itself takes the state dict of the model, and perhaps gathers it


class AsyncSave(Counted, InLoops):
    """``dcp.async_save`` is called."""

    words: ClassVar[str] = "save in the background"
    future: Obj  # what it returns
    fate: str  # of that (see ``async_saves``)
    group: Value  # that is given for it


class FutureKept(Counted):
    """An attribute keeps the future of a save."""

    words: ClassVar[str] = "future in an attribute"
    future: Obj
    owner: Obj
    name: str
    loop: nodes.NodeNG | None = None  # of whose earlier rounds it stands for all saves; None: it is one that was seen
    asked_by: frozenset[str] = frozenset()  # the names by which code comes to what may wait for it


class SaveAwaited(Counted, InLoops):
    """Somebody waits for the end of a save."""

    words: ClassVar[str] = "wait for a save"
    future: Obj
    in_words: bool  # its path says on which conditions the methods on the way have returned before


class Loaded(Counted, AsksRanks):
    """``load_state_dict`` is called on a model, the step's subject."""

    words: ClassVar[str] = "load of weights"
    payload: Value
    assign: bool  # the loaded tensors take the place of the parameters, perhaps
    strict: bool = True  # else what the state dict lacks stays as it was
    dropped: bool = False  # nobody looks at the names that it returns


class OptimizerLoaded(Event):
    """``load_state_dict`` is called on an optimizer, the step's subject."""

    payload: Value
    assign: bool


class DcpSaved(Counted):
    """``dcp.save`` or ``dcp.async_save`` is given a state dict."""

    words: ClassVar[str] = "save of a checkpoint"
    payload: Value  # what it is given, and what Stateful objects in it return
    by: str
    alone: bool  # each rank writes a checkpoint of its own, or keys of its own, perhaps


class DcpLoad(Counted):
    """``dcp.load`` is given a state dict to fill."""

    words: ClassVar[str] = "load of a checkpoint"
    nothing: tuple[tuple[PathCondition, str], ...]  # the paths on which what is loaded is lost, and why
    empty: tuple[tuple[PathCondition, str, DictV], ...]  # the parts with nothing in them: path, key, which dict
    optimizers: tuple[tuple[PathCondition, Obj, str], ...]  # whose own state is to be filled, and its name there
    gone: tuple[StateDict, ...]  # what is in a dict that a call in its place makes, and no name holds
    copies: tuple[tuple[str, Value], ...]  # of parameters, or tensors of their shapes: under which keys, and in what
    planned: bool  # a planner is given
    planners: tuple[tuple[PathCondition, Value], ...]  # which one, by path
    loops: int  # how deep in loops, over all active calls


class StateHelper(Counted):
    """A state-dict helper of DCP is called on a model, the step's subject. None: it is not known, or not its affair."""

    words: ClassVar[str] = "state-dict helper"
    helper: str  # its name
    models: tuple[Obj, ...]  # what it is called on, on whatever path
    optimizers: tuple[Obj, ...]
    options: tuple[tuple[PathCondition, Value], ...]  # what is given for them, with the path of each
    open_why: str  # why there may be more arguments; empty: there are none
    keywords: Mapping[str, nodes.NodeNG]  # where each is written; the call, where it came in a dict
    given: tuple[Value, ...]  # the state dict of the model that it is to set, on whatever path
    missing_on: tuple[tuple[PathCondition, bool], ...]  # the paths with nothing in a state dict; has rank 0 it there?
    unfollowed: str  # what of the state dicts came from code that was not followed: some ranks may have nothing in it
    tried: bool  # the call is an attempt, and its error is caught
    dropped: bool  # nobody keeps what it returns
    loops: int  # how deep in loops, over all active calls


class StateSet(Counted):
    """A state-dict helper of DCP fills a model, the step's subject."""

    words: ClassVar[str] = "load by a state-dict helper"


class Prefixed(Event):
    """From here on a wrapper's name is in the keys of a model, the step's subject."""

    # The name that the wrapper is kept under. None: it is put in the place of a part of the model.
    key: tuple[object, ...] | None


class KeysWritten(Event):
    """State dicts are written under their keys."""

    wrapped: tuple[Moment, ...]  # where the wrappers were put on whose names are in them
    by: str
