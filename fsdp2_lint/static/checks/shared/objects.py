"""The objects of an interpreted entry: which is part of which, what is sharded of them, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ....vocab.finding import Site
from ....vocab.rule import ModelKey
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.relations import Address, Relation, relation
from ...domain.trace import E, Trace
from ...domain.values import EACH, AbstractObject, ClassV, Ext, Obj, is_each
from ...frontend.project import Project
from ...libraries.interface import Machine
from ...libraries.words import describe
from .loops import Loop, loops_around

RELATED = frozenset({Relation.SAME, Relation.CONTAINS, Relation.INSIDE})


@dataclass(eq=False)
class Objects:
    """Those of an entry after its interpretation: nothing moves any more, so each thing is found out once."""

    machine: Machine
    name: str
    tops: dict[Obj, Obj] = field(default_factory=dict)
    addresses: dict[Obj, Address] = field(default_factory=dict)
    relations: dict[tuple[Obj, Obj], Relation] = field(default_factory=dict)
    keys: dict[Obj, ModelKey] = field(default_factory=dict)
    looped: dict[AnyStep, tuple[Loop, ...]] = field(default_factory=dict)
    touched: dict[Obj, list[tuple[Step[events.Sharded], Obj, Relation]]] = field(default_factory=dict)
    # that the calls on a model ask for
    dtypes: dict[tuple[Step[events.Sharded], ...], set[str | None]] = field(default_factory=dict)

    @property
    def trace(self) -> Trace:
        return self.machine.trace

    @property
    def project(self) -> Project:
        return self.machine.project

    def loops(self, step: AnyStep) -> tuple[Loop, ...]:
        """Outermost first."""
        if step not in self.looped:
            self.looped[step] = tuple(loops_around(self.project, step))
        return self.looped[step]

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
        passed = 0
        for step, part, found in self._touching(obj):
            passed += 1
            if step is not last and found in relations:
                self.trace.look(passed)  # as many as were looked at: mostly the first one is the answer
                passed = 0
                yield step, part
                last = step
        self.trace.look(passed)

    def touching(self, obj: Obj) -> list[tuple[Step[events.Sharded], Obj, Relation]]:
        """All that is sharded and may have to do with ``obj``, and how ``obj`` stands to it."""
        found = self._touching(obj)
        self.trace.look(len(found))
        return found

    def _touching(self, obj: Obj) -> list[tuple[Step[events.Sharded], Obj, Relation]]:
        if obj not in self.touched:
            self.touched[obj] = [
                (step, part, found)
                for step, part in self.sharded_parts.get(self.address(obj)[0], ())
                if (found := self.relation(obj, part)) is not Relation.NONE
            ]
        return self.touched[obj]

    @cached_property
    def sharded_parts(self) -> dict[AbstractObject, list[tuple[Step[events.Sharded], Obj]]]:
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
    def reads(self) -> dict[tuple[str, int], list[Step[events.Consumed]]]:
        """What reads each generator of parameters, in order."""
        found: dict[tuple[str, int], list[Step[events.Consumed]]] = {}
        for step in self.trace.of(events.Consumed):
            found.setdefault(step.what.generator, []).append(step)
        return found

    @cached_property
    def owners(self) -> set[Obj]:
        """Modules that register parameters themselves."""
        parents = self.machine.parents.items()
        return {holder for child, (holder, _) in parents if child.atom.parameter is not None}

    @cached_property
    def escaped_parts(self) -> dict[AbstractObject, list[tuple[Step[events.Escaped], Obj]]]:
        """What code that was not followed got hold of, likewise."""
        return self._by_holder((step, obj) for step in self.trace.of(events.Escaped) for obj in step.what.objects)

    def _by_holder(self, met: Iterable[tuple[Step[E], Obj]]) -> dict[AbstractObject, list[tuple[Step[E], Obj]]]:
        found: dict[AbstractObject, list[tuple[Step[E], Obj]]] = {}
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
