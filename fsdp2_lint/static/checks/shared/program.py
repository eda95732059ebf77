"""One interpreted entry, as the checks ask for it: its objects, and why something of them may not have been seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

from ....vocab.answers import No, Unknown
from ....vocab.declared import record
from ....vocab.events.base import Event
from ....vocab.rule import ModelKey, Rule
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.trace import E
from ...domain.values import AbstractObject, Obj
from ...frontend.packages import builds_models
from .closure import between, closed, excluded, origin_unseen
from .objects import Objects
from .structure import parts_unseen


class Subject:
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


@record
class AtStep(Generic[E]):
    """What is asked of one step of a program."""

    program: Program
    step: Step[E]


@record
class OfStep(AtStep[E], Subject):
    """What is asked of an object as a step finds it."""

    obj: Obj


@dataclass(eq=False, kw_only=True)
class Program(Objects):
    """An entry after its interpretation. ``partial``: no script was seen that drives it."""

    partial: bool
    open_why: str = ""
    open_at: int = 0  # how much of the trace there was when something was first not seen
    incompletes: dict[Obj, str] = field(default_factory=dict)
    judged: AnyStep | None = None  # whose events the rules are judging
    kept_apart: dict[tuple[Obj, PathCondition], bool] = field(default_factory=dict)

    @property
    def seen_whole(self) -> bool:
        """Was a script seen that drives it, and all code that it calls?"""
        return not self.partial and not self.machine.libraries.opaque

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

    def called_back(self, step: AnyStep) -> str:
        """Why it may not come to a step at all: code that was not followed was only given what does it.

        Empty where all that trains runs so, as a ``main`` does that a launcher is given.
        """
        trains = self.trace.of(events.Backward, events.Stepped)
        if not step.context or any(each.context == step.context for each in trains):
            return ""
        return "whether it is called at all is for code to say that was not followed"

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
    def _subjects(self) -> set[AbstractObject]:
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
        if self.open_why or not isinstance(subject, Subject):
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

    @cached_property
    def first_given(self) -> dict[Obj, int]:
        """What collectives had in their hands, and the index of the step at which one had it first."""
        found: dict[Obj, int] = {}
        for step in self.trace.of(events.Collective):
            for value in step.what.given or ():
                for leaf in self.machine.inside(value):
                    if isinstance(leaf, Obj):
                        found.setdefault(leaf, step.index)
        return found

    def alike(self, step: AnyStep) -> list[AnyStep]:
        """The other calls that have the same name: a rank that does not make this one may make one of them."""
        if not isinstance(step.what, (events.Collective, events.Called, events.Backward)):
            return []  # nobody waits for what is no meeting
        return [other for other in self._by_name.get(call_name(step), ()) if other is not step]

    @cached_property
    def _by_name(self) -> dict[str | None, list[AnyStep]]:
        found: dict[str | None, list[AnyStep]] = {}
        for step in self.trace.of(events.Collective, events.Called, events.Backward):
            found.setdefault(call_name(step), []).append(step)
        return found

    def managed(self, obj: Obj) -> str:
        """Why a framework may have put its own hooks around ``obj``; empty if none got hold of it."""
        for step in self.trace.of(events.Managed):
            if any(self.touches(obj, other) for other in step.what.objects) and not self._apart(obj, step):
                return f"{step.what.who} is in charge ({step.when.at})"
        return ""

    def _apart(self, obj: Obj, step: AnyStep) -> bool:
        """Is ``obj`` sharded only on paths that exclude ``step``, such as another backend's?"""
        key = obj, step.guard
        if key not in self.kept_apart:
            self.kept_apart[key] = self._excluded_by_path(obj, step.guard)
        return self.kept_apart[key]

    def _excluded_by_path(self, obj: Obj, path: PathCondition) -> bool:
        models = [obj, *self.held_by.get(obj, ())]  # of an optimizer what it holds counts
        found = [(sharding, part) for model in models for sharding, part, _ in self.touching(model)]
        # What stands in its place on other paths, as a model that was handed over ready, is another object.
        own = [each for each in found if any(each[1].atom is model.atom for model in models)] or found
        return bool(own) and not any(sharding.guard.compatible(path) for sharding, _ in own)

    @cached_property
    def managed_by(self) -> str:
        step = next(self.trace.of(events.Managed), None)
        return f"{step.what.who} is in charge ({step.when.at})" if step is not None else ""


def call_name(step: Step[Any]) -> str | None:
    """What a collective is called; None for a call of a model."""
    return None if isinstance(step.what, events.Called) else step.what.name
