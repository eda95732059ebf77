"""Values that each rank has for itself, such as its clock and its batches, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ....vocab.declared import record
from ....vocab.finding import Moment
from ...domain.formulas import Formula, atoms
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import (
    PICK,
    Computed,
    Cond,
    Const,
    DictV,
    Ext,
    GuardedUnion,
    ListV,
    Obj,
    Rank,
    Text,
    TupleV,
    Value,
    is_call,
    is_each,
)
from ..machine import AnyMachine

# What is asked of data beside what it holds: the ranks may well agree in it.
KIND = frozenset(
    """dim ndim dtype device layout requires_grad is_cuda grad grad_fn keys element_size
    names is_sparse __class__ full_tensor""".split()
)
_SIZES = frozenset("shape size numel stride nelement len()".split())  # padding may make them the same
ABOUT = KIND | _SIZES

WHICH = "which of several entries it is is not known"
RANGE = "range"  # where the numbers of a ``range`` begin
_ANSWERS = frozenset({"truth", "compared", "is", "spelled"})
_MADE_OF_PARTS = (TupleV, ListV, DictV, GuardedUnion, Text)
_KINDS = frozenset({"isinst", "hasattr", "dtensor"})


@record
class Own:
    """Each rank has another value, since it is made of ``words``.

    ``via`` are all objects on the way. ``draw``: the generator of random numbers that it comes from. ``elements``: that
    holds of what is in it. ``picked``: by a number that some of the ranks may share. ``doubt``: why the ranks may have
    the same. ``part``: each rank has its part of this tensor, which it takes on this ``path``.
    """

    words: str
    via: frozenset[Obj] = frozenset()
    when: Moment | None = None  # where that begins
    draw: str = ""
    elements: bool = False
    picked: bool = False
    doubt: str = ""
    comes: bool = False  # it is None on a rank until it is there: that is asked of what it is, and not of its kind
    part: Computed | None = None
    path: PathCondition = TRUE


OF_RANK = Own(
    "the number of this rank", doubt="whether what is made of the number of a rank is the same on some is not known"
)


def own_of(machine: AnyMachine, value: Value) -> Own | None:
    """What makes a value another one on each rank; None where nothing is known that does."""
    return _Search(machine).of(value) if machine.owned else None


def own_in(machine: AnyMachine, data: Obj) -> Own | None:
    """Likewise of some data: what makes it, or what lies in it, another one on each rank."""
    return own_of(machine, data) or data.atom.state(Own)


def first(machine: AnyMachine, values: Iterable[Value]) -> Own | None:
    """What of these is a rank's own."""
    return _Search(machine).first(values) if machine.owned else None


def chosen(machine: AnyMachine, path: PathCondition) -> Own | None:
    """What of a rank's own decides whether this path is taken."""
    return _Search(machine).chosen([path]) if machine.owned else None


def size_of(machine: AnyMachine, value: ListV | DictV) -> Own | None:
    """What of a rank's own decides how much a list or a dict holds."""
    return _Search(machine).size(value) if machine.owned else None


def rounds_of(machine: AnyMachine, value: Value) -> Own | None:
    """What of a rank's own decides how often a loop over this goes round; of what it holds, nothing is said."""
    return _Search(machine).rounds(value) if machine.owned else None


def asked_for(machine: AnyMachine, atom: Formula) -> Own | None:
    """What of a rank's own a condition asks for: what the value is, and not of which kind."""
    return _Search(machine).asked(atom) if machine.owned else None


class _Search:
    """Through all that a value is made of. A list may lie in itself, and decide what is put into it: once is enough."""

    def __init__(self, machine: AnyMachine) -> None:
        self._machine = machine
        self._seen: set[Value | tuple[str, Value]] = set()

    def first(self, values: Iterable[Value]) -> Own | None:
        return _surest(map(self.of, values))

    def of(self, value: Value) -> Own | None:
        if isinstance(value, Obj):
            return self._of_object(value)
        if isinstance(value, Cond):
            return self.first(_in(value.formula))
        if isinstance(value, Rank):
            return OF_RANK
        if isinstance(value, Ext):
            told: Own | None = self._machine.own_packages.get(value.qname.partition(".")[0])
            return told
        if not isinstance(value, _MADE_OF_PARTS) or value in self._seen:
            return None
        self._seen.add(value)
        return _surest(self._of_parts(value))

    def _of_parts(self, value: Value) -> Iterable[Own | None]:
        """Of all that lies in a value, and of what decides which of several it is, or whether it lies there."""
        parts = self._parts(value)
        yield self._placed(value, parts)
        if isinstance(value, Text) and value.per_rank:
            yield OF_RANK
        found = [(path, self.of(part)) for path, part in parts]
        if not isinstance(value, GuardedUnion) or all(own is not None for _, own in found):
            yield from (own for _, own in found)
            return
        for path, own in found:  # what stands under a key, or what was put in later under one that is not known
            open_ = own is not None and any(map(_names_an_entry, path.literals))
            yield replace(own, doubt=own.doubt or WHICH) if own is not None and open_ else own

    def _parts(self, value: Value) -> list[tuple[PathCondition, Value]]:
        machine = self._machine
        if isinstance(value, GuardedUnion):
            return list(machine.alternatives(value))
        if isinstance(value, Text):
            return [(TRUE, part) for part in machine.text_parts[value.of - 1][1]] if value.of else []
        return machine.contents(value)

    def _placed(self, value: Value, parts: Iterable[tuple[PathCondition, Value]]) -> Own | None:
        """What decides which of its parts lie in a value, or of several which it is."""
        paths = [path for path, _ in parts]
        keys = [key for key, _, _ in self._machine.entries(value).entries] if isinstance(value, DictV) else []
        cut: Own | None = self._machine.own_sizes.get(value) if isinstance(value, ListV) else None
        by_rank = any(self._machine.about_rank(formula) for path in paths for formula, _ in path.literals)
        return OF_RANK if by_rank else _surest([cut, self.chosen(paths), self.first(keys)])

    def chosen(self, paths: Iterable[PathCondition]) -> Own | None:
        """What decides which of these paths is taken."""
        asked = dict.fromkeys(atom for path in paths for formula, _ in path.literals for atom in atoms(formula))
        return _surest(map(self.asked, asked))

    def size(self, value: ListV | DictV) -> Own | None:
        if ("size", value) in self._seen:
            return None
        self._seen.add(("size", value))
        decided = self._placed(value, self._parts(value))
        if decided is not None or (held := self.of(value)) is None:
            return decided
        return _sized(held)

    def rounds(self, value: Value) -> Own | None:
        if isinstance(value, Obj):
            own = self._of_object(value)
            return own if own is not None and own.picked else None
        if not isinstance(value, (ListV, DictV)):
            return None
        parts = self._parts(value)
        numbers = [part for _, part in parts if isinstance(part, Obj) and part.atom.origin == RANGE]
        return _surest([self._placed(value, parts), self.first(numbers)])

    def asked(self, atom: Formula) -> Own | None:
        if isinstance(atom, bool) or atom[0] not in _ANSWERS or _of_kind(atom):
            return None
        if atom[0] == "is" and atom[2] is None:
            own = self.first(_in(atom[1:]))
            return own if own is not None and own.comes else None
        if atom[0] == "truth" and isinstance(atom[1], (ListV, DictV)):
            return self.size(atom[1])
        if atom[0] == "is" and isinstance(atom[1], tuple) and atom[1] in self._machine.own_arms:
            told: Own = self._machine.own_arms[atom[1]]
            return told
        return self.first(_in(atom[1:]))

    def _of_object(self, obj: Obj) -> Own | None:
        names = {_name(item) for item in obj.path}
        if names & KIND or (own := self._of_what_it_holds(obj)) is None:
            return None
        return _sized(own) if names & _SIZES else own

    def _of_what_it_holds(self, obj: Obj) -> Own | None:
        own = obj.atom.state(Own)
        if own is not None:
            return own if not own.elements or any(map(is_each, obj.path)) else None
        told: Own | None = next(filter(None, map(self._machine.own_answers.get, obj.above)), None)
        if told is not None and not obj.atom.module:
            return told
        for item in obj.path:  # what a model makes of a batch, or whatever else is called with it
            if is_call(item) and len(item) > 2 and (given := self.first(_in(item[2]))) is not None:
                return _answered(given, obj, str(item[1]))
        return OF_RANK if obj.atom.per_rank else None


def _names_an_entry(literal: tuple[Formula, bool]) -> bool:
    return any(atom[0] == "is" and isinstance(atom[1], tuple) and atom[1][:1] == ("alt",) for atom in atoms(literal[0]))


def _surest(found: Iterable[Own | None]) -> Own | None:
    """The first for sure, else the first in doubt."""
    doubtful = None
    for own in found:
        if own is not None and not own.doubt:
            return own
        doubtful = doubtful or own
    return doubtful


def _of_kind(atom: Formula) -> bool:
    """Does it ask which class, attributes or keys a value has, or for a batch as a whole?

    Those are the same in all batches of a data set.
    """
    asked = atom[1] if atom[0] == "truth" else None
    if isinstance(asked, Obj):
        own = asked.atom.state(Own)
        return (
            own is not None
            and own.elements
            and bool(asked.path)
            and is_each(asked.path[0])
            and all(map(_is_pick, asked.path[1:]))
        )
    if not isinstance(asked, tuple) or not asked:
        return False
    return asked[0] in _KINDS or asked[0] == "in" and isinstance(asked[1], Const) and isinstance(asked[1].value, str)


def _is_pick(item: Any) -> bool:
    return isinstance(item, tuple) and item[:1] == (PICK,)


def _sized(own: Own) -> Own:
    """How large or how long something is that holds a rank's own values."""
    return replace(own, doubt=own.doubt or "whether it is of one size on all ranks is not known")


def _answered(given: Own, obj: Obj, method: str) -> Own:
    """What a call returned that was given such a value: of a model it is a rank's own, else it seems so."""
    doubt = "" if obj.atom.module else unseen(method)
    return replace(given, via=given.via | set(_outputs(obj)), elements=False, doubt=given.doubt or doubt)


def unseen(function: str) -> str:
    """Why it may be the same what a function made of a rank's own values that nobody followed."""
    return f"whether {function}(), which was not followed, makes the same of it is not known"


def _outputs(obj: Obj) -> Iterable[Obj]:
    """What a call returned, and what was made of that."""
    for at in obj.above:
        yield at
        if is_call(at.item):
            return


def is_on_the_way(own: Own, obj: Obj) -> bool:
    """Is it what the value was made of, or a part of that? What befalls a copy does not befall what it was made of."""
    for at in obj.above:
        if at in own.via:
            return True
        if at.item == ("()", "clone", ()):
            break
    return False


def _in(part: Any) -> Iterable[Obj | Text | Ext | ListV | DictV]:
    if isinstance(part, (Obj, Text, Ext, ListV, DictV)):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _in(each)
    elif isinstance(part, GuardedUnion):
        for _, leaf in part.options:
            yield from _in(leaf)


def _name(item: Any) -> Any:
    return item[1] if is_call(item) else item
