"""The interpreter and the models of torch as the functions of this package see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from astroid import nodes

from ...vocab.finding import Site
from ..domain.path_conditions import PathCondition
from ..domain.relations import Address, Relation
from ..domain.values import AbstractObject, ClassV, Obj, Value
from ..interpreter import machine
from ..interpreter.call import Call
from ..interpreter.libraries import Libraries


class MadeOn(NamedTuple):
    """Where modules are made that name no device: "meta", "cuda" or "other", on which path, in which activation."""

    path: PathCondition
    frame: int
    kind: str


@dataclass(slots=True)
class Blank:
    """Which models have no values yet, and where such are made: see ``blank.py``."""

    atoms: set[AbstractObject] = field(default_factory=set)
    devices: list[MadeOn] = field(default_factory=list)  # open contexts of a device
    default: MadeOn | None = None  # ``torch.set_default_device``
    seeded_by_rank: bool = False  # by the last seed that was set


@dataclass(slots=True)
class Waiting:
    """Attributes whose class waits for what they hold, and by which names; of so many objects: see ``kept_futures``."""

    found: list[tuple[Obj, str, tuple[int, int] | None, frozenset[str]]] = field(default_factory=list)
    looked_at: int = 0


class Torch(Libraries, Protocol):
    sharded_atoms: set[AbstractObject]
    cast_tensors: set[Obj]
    marked: set[str]  # attributes that were set on parameters
    outputs: dict[Obj, Obj]  # what modules returned, and which module did
    opaque: dict[str, nodes.NodeNG]
    settings: dict[str, Value]  # environment variables: each is one unknown, however often it is read
    hooks: dict[Value, tuple[PathCondition, Call]]  # of optimizers: which no step has run so far, and who registers it
    launched: bool  # a launcher tells each process its place in the environment
    given_classes: set[ClassV]  # classes of the project that code that is not seen was given
    kept: list[Value]  # what code that is not seen was given to keep
    handed: dict[Obj, str]  # what code that was not followed got in its hands, and which code
    others: set[str]  # packages that were called, beside Python's own, torch and numpy
    unfollowed: dict[tuple[str, nodes.NodeNG], None]  # each call that was not understood, in order
    configured: Site | None  # where a name was taken that configuration files of the project have, first of all
    adopted_at: dict[Obj, int]
    extended_at: dict[Obj, int]  # when a module was last stored in an object, whether that is one or not
    addresses: dict[Obj, Address]
    blank: Blank
    waiting: Waiting
    machine: Machine

    def address(self, obj: Obj) -> Address:
        """Where it is, from the outermost object that holds it."""

    def relation(self, mine: Obj, other: Obj) -> Relation:
        """How two objects lie to each other."""

    def came_late(self, owner: Obj, name: str, value: Value, node: nodes.NodeNG) -> None: ...

    def adopt(self, holder: Obj, name: str, value: Value) -> None:
        """A module holds another one from here on."""

    def could_be_module(self, obj: Obj) -> bool:
        """False only where it is known to be none."""

    def plain_field(self, obj: Obj) -> bool:
        """A setting that a module keeps, not a part of it: nothing calls it."""

    def belongs(self, obj: Obj, atoms: set[AbstractObject]) -> bool:
        """Is it one of these, or a part of one?"""

    def surely_lacks(self, obj: Obj, name: str) -> bool:
        """Is it known to have no attribute of this name?"""

    def surely_has(self, obj: Obj, name: str) -> bool:
        """Does it have a method by the layer of torch that it is, or is derived from?"""

    def is_pretrained(self, obj: Obj) -> bool:
        """Is its class derived from one of Hugging Face's models?"""

    def is_sharded_formula(self, obj: Obj) -> Any:
        """``isinstance(m, FSDPModule)``: decided where the trace decides it, else what the sharding depends on."""

    def isinstance_formula(self, obj: Obj, classes: list[Value]) -> Any:
        """``isinstance(obj, classes)``."""

    def not_known(self, who: str, call: Call, receiver: Value | None = None) -> Obj:
        """A call of which nothing is known: it may change all that it was given, and return anything."""

    def callbacks(self, call: Call, *, spawned: bool = False) -> list[Value]:
        """Functions handed to code that is not seen are taken to be called once; what they return."""

    def called_back(self, leaf: Value, call: Call) -> Value:
        """A function is called by code that is not seen, nobody knows when."""

    def call_other(self, qname: str, call: Call) -> Value:
        """A function of another package that no table has."""


Machine: TypeAlias = machine.Machine[Torch]
