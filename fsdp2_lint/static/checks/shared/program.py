"""One interpreted entry, with the relations and histories that all handles ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic

from ....vocab.answers import No, Unknown
from ....vocab.events.base import Event
from ....vocab.finding import Site
from ....vocab.rule import ModelKey, Rule
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Address, Relation, relation
from ...domain.trace import E, Trace
from ...domain.values import EACH, Atom, ClassV, Ext, Obj, is_each
from ...frontend.packages import builds_models
from ...frontend.project import Project
from ...libraries.escapes import describe
from ...libraries.interface import Machine
from .closure import between, closed, excluded, origin_unseen
from .loops import Loop, loops_around
from .structure import parts_unseen

RELATED = frozenset({Relation.SAME, Relation.CONTAINS, Relation.INSIDE})


class Handle:
    """An object of a program, as rules see it: its name, and the model that it belongs to."""

    __slots__ = ()
    program: Program
    obj: Obj

    @property
    def label(self) -> str:
        return self.program.label(self.obj)

    @property
    def model_key(self) -> ModelKey:
        return self.program.key(self.obj)


@dataclass(frozen=True, slots=True)
class AtStep(Generic[E]):
    """What is asked of one step of a program."""

    program: Program
    step: Step[E]


@dataclass(frozen=True, slots=True)
class OfStep(AtStep[E], Handle):
    """What is asked of an object as a step finds it."""

    obj: Obj


@dataclass(eq=False)
class Program:
    """An entry after its interpretation. ``partial``: no script was seen that drives it."""

    machine: Machine
    name: str
    partial: bool
    open_why: str = ""
    open_at: int = 0  # how much of the trace there was when something was first not seen
    tops: dict[Obj, Obj] = field(default_factory=dict)
    addresses: dict[Obj, Address] = field(default_factory=dict)
    relations: dict[tuple[Obj, Obj], Relation] = field(default_factory=dict)
    keys: dict[Obj, ModelKey] = field(default_factory=dict)
    touched: dict[Obj, list[tuple[Step[events.Sharded], Obj, Relation]]] = field(default_factory=dict)
    # that the calls on a model ask for
    dtypes: dict[tuple[Step[events.Sharded], ...], set[str | None]] = field(default_factory=dict)
    incompletes: dict[Obj, str] = field(default_factory=dict)
    judged: AnyStep | None = None  # whose events the rules are judging

    @property
    def trace(self) -> Trace:
        return self.machine.trace

    @property
    def project(self) -> Project:
        return self.machine.project

    def loops(self, step: AnyStep) -> list[Loop]:
        """Outermost first."""
        return list(loops_around(self.project, step))

    def relation(self, mine: Obj | None, other: Obj | None) -> Relation:
        """Nothing moves any more once the program has been interpreted, so each is asked once."""
        if mine is None or other is None:
            return Relation.NONE
        key = (mine, other)
        if key not in self.relations:
            found = relation(self.address(mine), self.address(other))
            inner, outer = (mine, other) if found is Relation.INSIDE else (other, mine)
            if found in (Relation.INSIDE, Relation.CONTAINS) and self._instead(outer, inner):
                found = Relation.NONE
            self.relations[key] = found
        return self.relations[key]

    def _instead(self, outer: Obj, inner: Obj) -> bool:
        """Is what holds ``inner`` another object, that stands in the same place as ``outer`` on other paths?"""
        holders = self.ancestors(inner)[1:]
        built = [
            each for each in (outer, *holders) if each.parent is None and each.atom.kind in ("instance", "external")
        ]
        if outer not in built or outer in holders:
            return False
        return any(self.address(each) == self.address(outer) for each in built if each is not outer)

    def address(self, obj: Obj) -> Address:
        if obj not in self.addresses:
            self.addresses[obj] = self.machine.libraries.address(obj)
        return self.addresses[obj]

    def related(self, mine: Obj | None, other: Obj | None) -> bool:
        """Is one surely the other, or a part of it?"""
        return self.relation(mine, other) in RELATED

    def touches(self, mine: Obj | None, other: Obj | None) -> bool:
        """May the two have to do with each other?"""
        return self.relation(mine, other) is not Relation.NONE

    def units(self, obj: Obj, *relations: Relation) -> Iterator[tuple[Step[events.Sharded], Obj]]:
        """Calls of ``fully_shard`` on something that stands in one of ``relations`` to ``obj``."""
        last: Step[events.Sharded] | None = None
        for step, part, found in self.touching(obj):
            if step is not last and found in relations:
                yield step, part
                last = step

    def touching(self, obj: Obj) -> list[tuple[Step[events.Sharded], Obj, Relation]]:
        """All that is sharded and may have to do with ``obj``, and how ``obj`` stands to it."""
        self.trace.look(len(self.touched.get(obj, ())))
        if obj not in self.touched:
            self.touched[obj] = [
                (step, part, found)
                for step, part in self.sharded_parts.get(self.address(obj)[0], ())
                if (found := self.relation(obj, part)) is not Relation.NONE
            ]
        return self.touched[obj]

    @cached_property
    def sharded_parts(self) -> dict[Atom, list[tuple[Step[events.Sharded], Obj]]]:
        """What is sharded, by its outermost holder: only what has the same one can be related."""
        return self._by_holder((step, part) for step in self.trace.of(events.Sharded) for part in step.what.group)

    @cached_property
    def held_by(self) -> dict[Obj | None, list[Obj]]:
        """The models whose parameters each optimizer was made with."""
        found: dict[Obj | None, list[Obj]] = {}
        for made in self.trace.of(events.Optimizer):
            found.setdefault(made.subject, []).extend(one.model for one in made.what.held)
        return found

    @cached_property
    def owners(self) -> set[Obj]:
        """Modules that register parameters themselves."""
        parents = self.machine.parents.items()
        return {holder for child, (holder, _) in parents if child.atom.parameter is not None}

    @cached_property
    def escaped_parts(self) -> dict[Atom, list[tuple[Step[events.Escaped], Obj]]]:
        """What code that was not followed got hold of, likewise."""
        return self._by_holder((step, obj) for step in self.trace.of(events.Escaped) for obj in step.what.objects)

    def _by_holder(self, met: Iterable[tuple[Step[E], Obj]]) -> dict[Atom, list[tuple[Step[E], Obj]]]:
        found: dict[Atom, list[tuple[Step[E], Obj]]] = {}
        for step, obj in met:
            found.setdefault(self.address(obj)[0], []).append((step, obj))
        return found

    def has_units(self, obj: Obj, *relations: Relation) -> bool:
        return any(True for _ in self.units(obj, *relations))

    def concerned(self, obj: Obj) -> bool:
        """May any call of ``fully_shard`` have to do with ``obj``?"""
        return self.has_units(obj, *RELATED, Relation.MAY)

    def was_part(self, obj: Obj, outer: Obj, step: AnyStep) -> bool:
        """Was ``obj`` in its place inside ``outer`` already when ``step`` happened?"""
        chain = self.ancestors(obj)
        links = chain[: chain.index(outer)] if outer in chain else chain
        return all(self.machine.libraries.adopted_at.get(at, 0) <= step.index for at in links)

    def ancestors(self, obj: Obj) -> list[Obj]:
        """The object and its holders, innermost first, as far as they are modules."""
        chain: list[Obj] = []
        at: Obj | None = obj
        while at is not None and at not in chain:
            chain.append(at)
            adopted = self.machine.parents.get(at)
            at = adopted[0] if adopted is not None else at.parent
        while len(chain) > 1 and not self._is_model(chain[-1]):
            chain.pop()
        return chain

    def _is_model(self, obj: Obj) -> bool:
        """The outermost end of a path: a module, or an unknown that was handed in as one."""
        if obj.parent is not None:
            return True
        if obj.atom.kind == "instance":
            return bool(obj.atom.module)
        return obj.atom.kind != "configuration" and not obj.atom.framework

    def top(self, obj: Obj) -> Obj:
        """The model that ``obj`` is a part of: its outermost module."""
        if obj not in self.tops:
            chain = self.ancestors(obj)
            named = [at for at in chain if not (isinstance(at.item, str) and at.item.startswith("["))]
            self.tops[obj] = (named or chain)[-1]
        return self.tops[obj]

    def key(self, obj: Obj) -> ModelKey:
        top = self.top(obj)
        if top not in self.keys:
            site = top.atom.site or self._first_sites.get(top, Site(self.name, 1))
            self.keys[top] = ModelKey(self.label(top), site)
        return self.keys[top]

    @cached_property
    def _first_sites(self) -> dict[Obj, Site]:
        """Where something of each model is sharded first."""
        found: dict[Obj, Site] = {}
        for step in self.trace.of(events.Sharded):
            for part in step.what.group:
                found.setdefault(self.top(part), step.when.at)
        return found

    def label(self, obj: Obj) -> str:
        """The object as a reader would call it."""
        cls = self.machine.class_of(obj)
        if isinstance(cls, ClassV):
            return cls.name
        if obj.parent is None and isinstance(obj.atom.cls, Ext):
            return obj.atom.cls.qname.rsplit(".", 1)[-1]
        adopted = self.machine.parents.get(obj)
        if is_each(obj.item) or adopted is not None and is_each(adopted[1]):
            return f"each {describe(obj)}".replace(EACH, "")
        return describe(obj)

    def cut_off(self, why: str) -> None:
        """From here on not everything was seen."""
        self.open_at = self.open_at if self.open_why else len(self.trace)
        self.open_why = why

    def escaped(self, obj: Obj, *, after: AnyStep | None = None, before: AnyStep | None = None) -> str:
        """Why something that was not understood may have changed ``obj``; empty if nothing may."""
        for step, part in self.escaped_parts.get(self.address(obj)[0], ()):
            if not between(step, after, before):
                continue
            if self.touches(obj, part) and not self._apart(obj, step):
                return f"{self.label(obj)} is handed to {step.what.who} ({step.when.at}), which was not followed"
        return self.open_why if before is None or before.index >= self.open_at else ""

    # -- what closes the world --------------------------------------------------------

    def nothing(
        self,
        obj: Obj,
        *kinds: type[events.Counted],
        after: AnyStep | None = None,
        before: AnyStep | None = None,
        parts: bool = False,
    ) -> No | Unknown:
        """No such step concerns ``obj`` between two others; unknown where one may not have been seen.

        ``kinds``: of which steps this speaks. ``parts``: it also rests on what the model is made of.
        """
        why = self.unseen(obj, after=after, before=before)
        return closed(self.trace, why or (self.parts_unseen(obj) if parts else ""), *kinds)

    def nowhere(self, *kinds: type[events.Counted]) -> No | Unknown:
        """No such step is in the program, whatever it is about; unknown where the program was cut off."""
        return closed(self.trace, self.open_why, *kinds)

    def among(self, *kinds: type[events.Counted]) -> No | Unknown:
        """No step of those that were followed. For questions whose callers ask apart who else may have done it."""
        return closed(self.trace, "", *kinds)

    def excluded(self, fact: str) -> No:
        """No: what was seen says otherwise."""
        return excluded(fact)

    def unseen(self, obj: Obj, *, after: AnyStep | None = None, before: AnyStep | None = None) -> str:
        """Why something that was not seen may have been done to ``obj``: before it came here, or in that stretch."""
        atoms = dict.fromkeys([obj.atom, self.address(obj)[0]])
        origin = (origin_unseen(self.machine, atom, self.label(obj)) for atom in atoms)
        parts = (self._stored_unseen(part) for part in (obj, *self._paths_stored.get(self.top(obj), ())))
        why = next(filter(None, origin), "") or next(filter(None, parts), "")
        return why or self.escaped(obj, after=after, before=before)

    def _stored_unseen(self, obj: Obj) -> str:
        """Why ``obj`` may be a model that the program knows by another name: unseen code stores what it is given."""
        for kept in obj.atom.keeps if obj.parent is not None else ():
            for leaf in self.machine.inside(kept):
                if isinstance(leaf, Obj) and self._has_a_past(leaf):
                    given = f"{self.label(leaf)}, which {self.label(obj.atom.root)} was given"
                    return f"whether {self.label(obj)} is {given}, is not known"
        return ""

    def _has_a_past(self, obj: Obj) -> bool:
        """Is it a model of the project, or one of a library to which something was done?"""
        done = obj.parent is not None or self.address(obj)[0] in self._subjects
        return bool(obj.atom.module) or done and builds_models(obj.atom.origin)

    @cached_property
    def _subjects(self) -> set[Atom]:
        self.trace.look(len(self.trace))
        steps = (step for step in self.trace.steps if isinstance(step.what, events.Counted))
        return {self.address(step.subject)[0] for step in steps if step.subject is not None}

    @cached_property
    def _paths_stored(self) -> dict[Obj, list[Obj]]:
        """Of each model the parts that the program took out of other objects."""
        found: dict[Obj, list[Obj]] = {}
        for part in self.machine.parents:
            if part.parent is not None and part.atom.keeps:
                found.setdefault(self.top(part), []).append(part)
        return found

    def parts_unseen(self, obj: Obj) -> str:
        top = self.top(obj)
        return parts_unseen(self.machine, top, self.label(top))

    def incomplete(self, rule: Rule, event: Event) -> str:
        """Why a rule may be violated about the subject of an event where nobody looked."""
        subject = event.subject
        if self.open_why or not isinstance(subject, Handle):
            return self.open_why
        if self.partial:
            return "no script was seen that runs this: its callers may do more"
        return self._model_unseen(self.top(subject.obj))

    def _model_unseen(self, model: Obj) -> str:
        if model not in self.incompletes:
            optimizers = (step.subject for step in self.trace.of(events.Optimizer) if self._holds(step, model))
            held = dict.fromkeys(
                [model, *self._parts.get(model, ()), *(each for each in optimizers if each is not None)]
            )
            self.incompletes[model] = next((why for each in held if (why := self.unseen(each))), "")
        return self.incompletes[model]

    @cached_property
    def _parts(self) -> dict[Obj, list[Obj]]:
        """What was stored in each model, gone through once for all of them."""
        found: dict[Obj, list[Obj]] = {}
        for part in self.machine.parents:
            found.setdefault(self.top(part), []).append(part)
        return found

    def _holds(self, optimizer: Step[events.Optimizer], model: Obj) -> bool:
        return any(self.top(held.model) is model for held in optimizer.what.held)

    def managed(self, obj: Obj) -> str:
        """Why a framework may have put its own hooks around ``obj``; empty if none got hold of it."""
        for step in self.trace.of(events.Managed):
            if any(self.touches(obj, other) for other in step.what.objects) and not self._apart(obj, step):
                return f"{step.what.who} is in charge ({step.when.at})"
        return ""

    def _apart(self, obj: Obj, step: AnyStep) -> bool:
        """Is ``obj`` sharded only on paths that exclude ``step``, such as another backend's?"""
        own = self.touching(obj)
        return bool(own) and not any(sharding.guard.compatible(step.guard) for sharding, _, _ in own)

    @cached_property
    def managed_by(self) -> str:
        step = next(self.trace.of(events.Managed), None)
        return f"{step.what.who} is in charge ({step.when.at})" if step is not None else ""
