"""The dtype of the weights that an optimizer updates."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...domain import events
from ...domain.choices import options
from ...domain.events import AnyStep, Step
from ...domain.formulas import atoms
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Const, Ext, Obj, is_call
from ...libraries.defaults import default_of
from ...libraries.interface import Machine
from ...libraries.outputs import is_output
from ...libraries.torch.precision.dtypes import DEFAULT, SOME_DTYPE, LayerDtype, LoadedIn, literal_dtype
from ...libraries.torch.precision.precision import LOW
from ..shared.objects import RELATED
from ..shared.program import OfStep
from ..shared.structure import leaves, wrapped_by


@record
class StaticMasters(OfStep[events.Event]):
    """An optimizer as it is made, and what it holds of one model."""

    held: events.Held

    def low_precision(self) -> Answer[Place]:
        """Does the optimizer hold weights of a low precision? Unknown where they are loaded or cast elsewhere."""
        if not self._sharded():
            return self.program.nothing(self.held.model, events.Sharded)
        low = self._converted()
        if not low.surely:
            return low
        own = self.obj.atom.cls
        if not (isinstance(own, Ext) and own.qname.startswith("torch.optim.")):
            return unknown(f"whether {self.label} keeps full precision elsewhere is not known")
        if not any(step.subject is self.obj for step in self.program.trace.of(events.Stepped)):
            return unknown(f"no step of {self.label} was seen")
        told = (Relation.NONE,) if self._raised() else (Relation.NONE, Relation.CONTAINS)
        for step in self.program.trace.of(events.Frozen) if not self._all_converted() else ():
            if self.program.relation(self.held.model, step.subject) not in told:
                return unknown(f"which parameters are trained is not known ({step.when.at})")
        why = self.program.managed(self.held.model) or self.program.escaped(self.held.model, before=self.step)
        return unknown(why) if why else low

    def _sharded(self) -> bool:
        units = self.program.units(self.held.model, *RELATED)
        return any(step.guard.compatible(self.step.guard) for step, _ in units)

    def _all_converted(self) -> bool:
        """Does a conversion reach all that it has by the time it is trained? Then what is frozen is of no interest."""
        casts, model = self._casts(), self.held.model
        if not casts or self.program.relation(model, casts[-1].subject) not in (Relation.SAME, Relation.INSIDE):
            return False
        known = self.program.machine.libraries
        grown = [*known.adopted_at.items(), *known.extended_at.items()]
        return not self._raised() and not any(
            when > casts[-1].index and self.program.touches(model, part) for part, when in grown
        )

    def _raised(self) -> bool:
        """Do parts of it get another precision back once all of it is low?"""
        last = next((step.index for step in reversed(self._casts()) if step.what.dtype in LOW), -1)
        return any(
            step.index > last and step.what.dtype not in LOW and self.program.touches(self.held.model, step.subject)
            for step in self.program.trace.of(events.Cast)
            if step.subject is not None and not is_output(step.subject)
        )

    def _casts(self) -> list[Step[events.Cast]]:
        """What converts all of it, or perhaps a part of it."""
        return [
            step
            for step in self.program.trace.of(events.Cast)
            if step.subject
            and not is_output(step.subject)
            and not (_is_returned(step.subject) and step.what.dtype not in (*LOW, SOME_DTYPE))
            and step.together(self.step)
            and self.program.relation(self.held.model, step.subject) in (Relation.SAME, Relation.INSIDE, Relation.MAY)
            and (step.index < self.step.index or step.what.dtype != SOME_DTYPE)
        ]

    def _converted(self) -> Answer[Place]:
        """The last conversion on some path. One that only some later path makes leaves it open."""
        casts = self._casts()
        if not casts:
            why = self._parts_converted()
            return unknown(why) if why else self._loaded() or self._made_low() or self._made()
        last = next((step for step in reversed(casts) if not self._undone(step, casts)), casts[-1])
        if last.what.dtype not in LOW:
            if any(step.what.dtype in LOW for step in casts):
                return unknown(f"whether {last.when.at} converts all that is trained is not known")
            if last.what.dtype == SOME_DTYPE:
                return unknown(f"to which dtype {last.when.at} converts is not known")
            return self.program.nothing(self.held.model, events.Cast, before=self.step)
        assert last.subject is not None
        if self.program.relation(self.held.model, last.subject) is Relation.MAY:
            return unknown(f"what {last.when.at} converts is not known")
        if other := self._chosen_beside(last):
            return unknown(f"a setting decides whether {last.when.at} converts to {last.what.dtype} or to {other}")
        return yes(Place(last.when, last.what.dtype))

    def _chosen_beside(self, cast: Step[events.Cast]) -> str:
        """The full precision that the same call converts to as well, if whoever starts the job chooses so."""
        for other in self.program.trace.of(events.Cast):
            if other.place == cast.place and other.subject is cast.subject and other.what.dtype not in LOW:
                if _is_choice(self.program.machine, cast.guard, other.guard):
                    return "another dtype" if other.what.dtype == SOME_DTYPE else other.what.dtype
        return ""

    def _undone(self, cast: Step[events.Cast], casts: list[Step[events.Cast]]) -> bool:
        """Is it no conversion to a low precision, or followed by another one on its own path?"""
        after = (other for other in casts if other.index > cast.index and other.together(cast))
        return cast.what.dtype not in LOW or any(True for _ in after)

    def _parts_converted(self) -> str:
        """Why some of what is trained may be of a low precision: parts of the model are converted."""
        for step in self.program.trace.of(events.Cast, before=self.step):
            part = step.subject
            inside = part is not None and self.program.relation(part, self.held.model) is Relation.INSIDE
            if part is not None and inside and step.what.dtype in LOW and not self._all_frozen(part, step):
                return f"whether what {step.when.at} converts is trained is not known"
        for part, loaded in self._loaded_parts():
            names = [literal_dtype(leaf) for _, leaf in options(loaded.dtype)] if loaded.dtype is not None else [""]
            if not all(names) or any(name in LOW for name in names):
                return f"whether {self.program.label(part)} ({loaded.made.at}) is of full precision is not known"
        return ""

    def _loaded_parts(self) -> Iterator[tuple[Obj, LoadedIn]]:
        """What it holds that a library loaded and that may be trained; and what adapters are made for."""
        machine, model = self.program.machine, self.held.model
        adapted = wrapped_by(machine, model)  # adapters are made in its dtype, or by newer versions in full precision
        for part in (*adapted, *machine.parents):
            loaded = part.atom.state(LoadedIn) if part.parent is None else None
            inside = self.program.relation(part, model) in (Relation.INSIDE, Relation.MAY)
            if loaded is not None and (part in adapted or inside and not self._all_frozen(part, self.step)):
                yield part, loaded

    def _all_frozen(self, part: Obj, converted: AnyStep) -> bool:
        """Is all of it frozen in each run in which it is converted, and stays so?"""
        layers = [layer for _, layer in leaves(self.program.machine, part)]
        return all(self._is_frozen(each, converted) for each in layers or [part])

    def _is_frozen(self, layer: Obj, converted: AnyStep) -> bool:
        path = converted.guard.join(self.step.guard)
        return path is None or any(
            self.program.relation(step.subject, layer) in (Relation.SAME, Relation.CONTAINS)
            and path.implies(step.guard)
            and not self._thawed(layer, step)
            for step in self.program.trace.of(events.Frozen)
        )

    def _thawed(self, layer: Obj, frozen: AnyStep) -> bool:
        return any(
            step.index > frozen.index and self.program.touches(step.subject, layer)
            for step in self.program.trace.of(events.Thawed)
        )

    def _loaded(self) -> Answer[Place]:
        """Unknown where the tensors of a file take the place of its own, in the dtype in which they were saved."""
        for load in self.program.trace.of(events.Loaded, before=self.step):
            if load.what.assign and self.program.touches(self.held.model, load.subject):
                return unknown(f"the dtype of the tensors that {load.when.at} assigns is not known")
        return self.program.nothing(self.held.model, events.Cast, before=self.step)

    def _made_low(self) -> Answer[Place]:
        """Are its layers made with ``dtype=torch.bfloat16``? Unknown where some are, or it is not known of some."""
        layers = [layer for _, layer in leaves(self.program.machine, self.held.model)]
        model = self.program.label(self.held.model)
        said = [known.name if (known := layer.atom.state(LayerDtype)) is not None else DEFAULT for layer in layers]
        low = next((name for name in said if name in LOW), None)
        if low is not None and layers[0].atom.site is not None:
            some = all(name in LOW for name in said)
            where = layers[0].atom.site
            return yes(Place(Moment(where), low)) if some else unknown(f"some layers of {model} are made in {low}")
        if None in said:
            return unknown(f"the dtype in which layers of {model} are made is not known")
        return self.program.nothing(self.held.model, events.Cast, before=self.step)

    def _made(self) -> Answer[Place]:
        loaded = self.program.address(self.held.model)[0].state(LoadedIn)
        if loaded is not None and loaded.dtype is None:
            silent = f"{loaded.made.at} asks for no dtype"
            return unknown(
                f"{silent}: since transformers 5 it is that of the checkpoint, and an older one is not pinned"
            )
        path = self.step.guard.join(self.held.guard)
        asked = [
            (guard, literal_dtype(leaf))
            for guard, leaf in (options(loaded.dtype) if loaded is not None and loaded.dtype is not None else ())
            if path is not None and path.compatible(guard)
        ]
        low = next(((guard, name) for guard, name in asked if name in LOW), None)
        if loaded is not None and low is not None:
            for guard, name in asked:
                if name not in LOW and _is_choice(self.program.machine, low[0], guard):
                    return unknown(f"a setting decides whether {loaded.made.at} asks for {low[1]}")
            return yes(Place(loaded.made, low[1]))
        if not all(name for _, name in asked):
            return unknown(f"the dtype of {self.program.label(self.held.model)} is not known")
        return self.program.nothing(self.held.model, events.Cast, before=self.step)


def _is_choice(machine: Machine, low: PathCondition, other: PathCondition) -> bool:
    """Does whoever starts the job choose one of several dtypes by name? What a table offers is no fault, unless it is
    what the option has by default. A flag is another thing: whoever sets it is told what it does.
    """
    named = {
        (atom[1], atom[2])
        for formula, _ in low.literal_set ^ other.literal_set
        for atom in atoms(formula)
        if not isinstance(atom, bool) and atom[0] == "is" and isinstance(atom[2], str)
    }
    return bool(named) and not any(
        default_of(machine, asked) == Const(name) and low.decide(("is", asked, name)) is True for asked, name in named
    )


def _is_returned(obj: Obj) -> bool:
    """Did a method return it? That may be a part of the model, or what a part computed: it proves no precision."""
    return any(map(is_call, obj.path))
