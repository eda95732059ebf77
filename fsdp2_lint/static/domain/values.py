"""The values of the abstract interpreter.

Unknown values and models are the same thing: an :class:`AbstractObject` with an origin, and
:class:`Obj`, an atom plus the access path that was taken from it. ``cfg.fsdp``,
``model.layers[*]`` and ``engine.get_model()`` are paths, and any of them can turn out
to be a model on the day someone shards it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar, TypeGuard, TypeVar

from astroid import nodes

from ...vocab.declared import record
from ...vocab.finding import Moment, Site
from ..budget import BUDGET
from ..frontend.module import Module
from .formulas import Formula
from .path_conditions import PathCondition
from .says import Says

S = TypeVar("S")
EACH = "[*]"  # every element of a collection, one after the other
SOME = "[?]"  # one element, nobody knows which
PICK = "pick"  # (PICK, k): the k-th (None: some) of the objects that one summary value stands for
SLICE = "[:]"  # some elements, in a row
BELOW = "**"  # each module below, itself included
ASIDE = ("get_input_embeddings()", "get_output_embeddings()")  # modules of a library's model outside of its blocks
BELOW_ANYHOW = "**^"  # likewise, and which of them comes first is not known


def is_each(item: Any) -> bool:
    """``[*]``, or ``[*2]`` where statements of one loop add several kinds of elements."""
    return isinstance(item, str) and item.startswith("[*")


def is_one_of(value: Any, each: Any) -> bool:
    """Is it one of the elements that ``each`` stands for?"""
    picked = isinstance(value, Obj) and isinstance(value.item, tuple) and value.item[0] == PICK
    return picked and value.parent is each


def is_call(item: object) -> TypeGuard[tuple[Any, ...]]:
    """``("()", name, arguments)``: what a method of this name returned, or the object itself where it is empty."""
    return isinstance(item, tuple) and item[:1] == ("()",)


class AbstractObject:
    """Where a value began: a construction, a parameter of an entry, an unresolved call.

    What is noted of it has a default, which holds as long as nothing is noted. What belongs to one topic of a library
    is a state: an object of a frozen class that is declared beside the function that notes it.
    """

    __slots__ = ("id", "kind", "cls", "origin", "site", "many", "root", "__dict__")  # the last has what was noted
    made: ClassVar[int] = 0

    # What the interpreter notes.
    module: bool | None = None  # is it an ``nn.Module``? None: a base class was not seen, or nobody has said
    keeps: tuple[Value, ...] = ()  # what unseen code that made it, or took part in that, may have put into it
    filled_before: bool = False  # it has attributes from code that was not followed, and that nobody else has run
    apart: bool = False  # what a function returned that has no part in what is checked
    cut: bool = False  # what a call returned that was too long to be followed to its end
    number: bool = False  # a calculation made it that was not followed
    said_by: Says | None = None  # who says this number, or this data; None: as its origin and its path say
    positive: bool = False  # it is a number larger than zero
    counts: bool = False  # it says how many there are of something that the program has at least one of
    per_rank: bool = False  # a number that is made of a rank
    counter: str = ""  # it is counted up by constants, under this name (see ``Machine.counted_apart``)
    shared: bool = False  # all ranks have the same
    agreed: bool = False  # likewise, since a collective of all ranks has filled it, or what it was computed of
    left_of: tuple[str, Obj] | None = None  # the operator and the left side that it was computed by
    operands: tuple[Value, ...] = ()  # what an operator made it of, where the result is not known
    operator: str = ""  # which one; "hash" for that function
    rounds: int | None = None  # how often a loop runs that goes through it; None where that is not written
    times: int | None = None  # how many of it the rounds of a loop make; None for what no such loop makes

    # What models of libraries note.
    parameter: bool | None = None  # is this ``nn.Parameter`` trained? None for all that is none
    wrapper: str = ""  # it wraps a module, which it has under this name
    framework: str = ""  # it is an object of this framework
    scaler: bool = False  # it scales a loss
    given_optimizer: bool = False  # an annotation says that a caller, who was not seen, gives an optimizer
    sized_by: Says | None = None  # who says how large this layer is, where that is not calculated
    tensor_size: int | None = None  # of how many elements the source makes this tensor; None where it does not say

    _states: Mapping[type[Any], Any] = MappingProxyType({})

    def __init__(self, kind: str, *, cls: Value | None = None, origin: str = "", site: Any = None, many: bool = False):
        AbstractObject.made += 1
        self.id = AbstractObject.made
        # "instance" (of a project's class), "external" (of another package's class), "configuration",
        # "unknown" (a plain result), and what may be or do anything: "parameter" (never passed), "opaque"
        self.kind = kind
        self.cls = cls
        self.origin = origin
        self.site = site
        self.many = many  # stands for several objects that one statement made
        self.root = Obj(self, None, "")

    @property
    def settings(self) -> bool:
        """Is it what a package for settings, a parser or the environment says? Then it is no module."""
        return self.kind == "configuration" and self.shared

    def know(self, state: object) -> None:
        """Note what a function of a library knows of it; what it knew before of the same kind is replaced."""
        self._states = {**self._states, type(state): state}

    def forget(self, kind: type[Any]) -> None:
        self._states = {known: state for known, state in self._states.items() if known is not kind}

    def state(self, kind: type[S]) -> S | None:
        """What is known of this kind; None where nothing was noted."""
        found: S | None = self._states.get(kind)
        return found

    def note_as_of(self, other: AbstractObject) -> None:
        """All that was noted of the other one holds of this one as well, its copy."""
        self.__dict__.update(other.__dict__)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.origin or self.cls}#{self.id}>"


class Obj:
    """An abstract object and an access path. Interned, so identity is equality."""

    __slots__ = ("atom", "parent", "item", "_children", "depth")

    def __init__(self, atom: AbstractObject, parent: Obj | None, item: Any) -> None:
        self.atom = atom
        self.parent = parent
        self.item = item
        self.depth: int = parent.depth + 1 if parent else 0
        self._children: dict[Any, Obj] = {}

    def child(self, item: Any) -> Obj:
        if self.depth > BUDGET.path:  # recursive data (``node = node.next``): the tail is one unknown
            return self
        found = self._children.get(item)
        if found is None:
            found = self._children[item] = Obj(self.atom, self, item)
        return found

    @property
    def path(self) -> tuple[Any, ...]:
        return (*self.parent.path, self.item) if self.parent else ()

    @property
    def above(self) -> Iterator[Obj]:
        """This object and what its path goes through, innermost first."""
        at: Obj | None = self
        while at is not None:
            yield at
            at = at.parent

    def __repr__(self) -> str:
        return f"{self.atom!r}{''.join(f'.{item}' for item in self.path)}"


@record
class Const:
    value: Any


@record
class Rank:
    """A rank's number. ``kind``: "global", "local", "node" or "group" (a mesh's or sub-group's).

    ``at`` is where it is read, for the words of a finding: it is the same number wherever it is. ``mesh``: of which the
    number is that on one dimension of several.
    """

    kind: str
    at: Site | None = field(default=None, compare=False)
    mesh: Obj | None = field(default=None, compare=False)


@record
class Cond:
    """A truth that is not known yet, kept as a formula."""

    formula: Formula


@record
class Text:
    """A string or number that is not known; ``per_rank`` says whether it differs by rank."""

    per_rank: bool | None
    hint: str = ""
    source: Rank | None = None  # the one rank that it is made from
    of: int = 0  # a number for what it is made from: two texts of the same are the same


@record
class Func:
    module: Module
    node: nodes.FunctionDef | nodes.Lambda
    closure: int = 0
    owner: ClassV | None = None
    around: str = ""  # what wraps it, and was not followed

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


@record
class Bound:
    receiver: Value
    func: Func


@record
class ClassV:
    module: Module
    node: nodes.ClassDef
    closure: int = 0

    @property
    def name(self) -> str:
        return str(self.node.name)


@record
class Partial:
    func: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


@record
class BoundExt:
    """A method of an object that is not code of the project."""

    receiver: Value
    name: str


@record
class ModRef:
    module: Module


@record
class Ext:
    """Something outside the project, by its qualified name."""

    qname: str


@record
class Super:
    cls: ClassV
    receiver: Value


@record
class TupleV:
    items: tuple[Value, ...]


@record
class ListV:
    """A list, set or generator; its contents live in the store under ``id``."""

    id: int
    lazy: bool = False


@record
class DictV:
    id: int


@record
class Params:
    """``model.parameters()`` as a generator: read only when it is consumed."""

    model: Value
    named: bool = False
    part: bool = False  # buffers or a filtered part
    made: int = -1  # the step of the trace that made this generator


@record
class ParamV:
    """A parameter of ``model``, read at position ``read`` of the trace; or (``copied``) a tensor like it.

    ``grad``: that is its gradient; ``apart``: or what was copied from it, perhaps into memory of its own.
    """

    model: Value
    read: int
    copied: bool = False
    grad: bool = False
    apart: bool = False


@record
class Computed:
    """What was computed from a parameter or its gradient: shards, or (``how``) a reduction in parts."""

    of: ParamV
    how: str
    at: Site | None = field(default=None, compare=False)  # where it was computed


@record
class StateDict:
    """``what`` is "model" or "optimizer"; ``full`` dicts hold gathered, plain tensors.

    ``rank0``: full dicts that are moved to the CPU are empty on all ranks but the first. ``prefixed``: where the
    wrapper is put on whose name is in its keys. ``numbered``: an optimizer's own, whose parameters have no names;
    None where it may be one. ``made``: by which call. Two calls between which nothing happens give the same.
    """

    what: str
    owner: Value
    read: int
    full: bool | None = False
    rank0: bool = False
    prefixed: Moment | None = None
    numbered: bool | None = False
    made: Site | None = field(default=None, compare=False)


@record
class StateTensor:
    """One tensor of a state dict that is not gathered. ``copied``: a clone, of which the model knows nothing."""

    of: StateDict
    copied: bool = field(default=False, compare=False)


@record
class Loaded:
    """What ``torch.load`` and its kin returned, or a part of it."""

    read: int
    per_rank: bool | None
    path: Value


@record
class GuardedUnion:
    """One of several values, each with the path on which it is the one."""

    options: tuple[tuple[PathCondition, Value], ...]


@record
class Sometimes(GuardedUnion):
    """A keyword argument that is given on these paths only."""


Value = (
    Obj | Const | Rank | Cond | Text | Func | Bound | BoundExt | ClassV | Partial | ModRef | Ext | Super
    | TupleV | ListV | DictV | Params | ParamV | Computed | StateDict | StateTensor | Loaded | GuardedUnion
)  # fmt: skip
NONE = Const(None)


def unknown(origin: str, site: Any = None, kind: str = "unknown") -> Obj:
    """A fresh unknown value."""
    return AbstractObject(kind, origin=origin, site=site).root


def taken_out(key: Const) -> str:
    """Under which name it is remembered that ``pop`` took a key out of a mapping that is not known."""
    return f"[{key.value!r}] is gone"
