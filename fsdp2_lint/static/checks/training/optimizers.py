"""Optimizers: do they hold the parameters that are trained?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Place
from ....vocab.objects import Stale
from ....vocab.optimizers import on_shards
from ...domain import events
from ...domain.events import AnyStep, Step
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Const, Ext, Obj
from ...interpreter.expressions.own_values import own_of
from ...libraries.torch.ranks.seeds import differs
from ..launch.collectives import excluded_ranks
from ..ranks.alike import same_on_all_ranks
from ..ranks.own_choices import agreed, own_choice
from ..shared.doubts import unproven
from ..shared.objects import RELATED
from ..shared.program import AtStep, Program, Subject
from .statement_moves import moved_behind


@record
class StaticOptimizer(Subject):
    """An optimizer in its relation to one model."""

    program: Program
    obj: Obj
    model: Obj

    def creations(self) -> Iterator[tuple[Step[events.Optimizer], events.Held]]:
        for step in self.program.trace.of(events.Optimizer):
            if step.subject is self.obj:
                for held in step.what.held:
                    if self.program.top(held.model) is self.model and step.guard.compatible(held.guard):
                        yield step, held

    def unsafe_on_shards(self) -> Answer[Place]:
        cls = self.obj.atom.cls
        words = on_shards(cls.qname) if isinstance(cls, Ext) and self.obj.parent is None else ""
        for created, held in self.creations() if words else ():
            for sharding, _ in self.program.units(held.model, *RELATED):
                if sharding.index < held.read and sharding.precedes(created):
                    if self._one_of_several(created):
                        return unknown("which optimizer it is, of several, is a setting")
                    return yes(Place(sharding.when, words))
        return self._safe()

    def _safe(self) -> Answer[Place]:
        cls = self.obj.atom.cls
        if isinstance(cls, Ext) and cls.qname.startswith("torch.optim."):
            return self.program.nothing(self.obj, events.Optimizer)
        return unknown(f"how {self.label} updates shards is not known")

    def _one_of_several(self, created: Step[events.Optimizer]) -> bool:
        """Does the same call make optimizers of other classes, as a configuration says?"""
        others = (step.subject for step in self.program.trace.of(events.Optimizer) if step.place == created.place)
        return any(other is not None and other.atom.cls != self.obj.atom.cls for other in others)

    def replaced(self) -> Many[Stale]:
        """Which parameters it holds that sharding replaced; unknown where it may hold others, or unseen code had it."""
        found: dict[Step[events.Optimizer], Stale] = {}
        replacing: dict[Step[events.Optimizer], list[Step[events.Sharded]]] = {}
        why, may = self._followed(), ""
        for created, held in self.creations():
            for sharding, part in self.program.units(held.model, *RELATED, Relation.MAY):
                if sharding.index < held.read or not created.precedes(sharding) and sharding.index > created.index:
                    continue
                path = created.guard.join(held.guard)
                if path is None or not path.compatible(sharding.guard) or not self._used(created, sharding):
                    continue
                if doubt := self._unproven(path, sharding):
                    may = may or doubt
                    continue
                if lost := self._supplanted(created, sharding):
                    may = may or lost
                    continue
                if changed := self._changed_hands(created, before=self._stepped(sharding)):
                    may = may or changed
                    continue
                if self.program.relation(held.model, part) is Relation.MAY:
                    may = may or f"whether {sharding.when.at} shards parameters of this optimizer is not known"
                    continue
                if self._both_orders(created, sharding):
                    why = (
                        why
                        or f"the same function also builds it after sharding ({sharding.when.at}); "
                        "which is meant is the caller's choice"
                    )
                    continue
                stale = Stale(created.when, sharding.when, self.program.label(held.model), created.what.given)
                found[created] = found[created] if stale.given and created in found else stale
                replacing.setdefault(created, []).append(sharding)
        if why:
            return many((), unknown(why))
        end = unknown(may) if may else self.program.nothing(self.obj, events.Sharded, events.Optimizer)
        for created, stale in found.items():
            if not stale.given:
                found[created] = replace(stale, fix=moved_behind(self.program, created, replacing[created]))
        return many(found.values(), end)

    def _followed(self) -> str:
        for step in self.program.trace.of(events.Optimizer):
            if step.subject is self.obj and not step.what.complete:
                if not step.what.held:
                    return f"which parameters {self.label} holds was not followed ({step.when.at})"
                return ""
        return ""

    def _changed_hands(self, created: Step[events.Optimizer], before: AnyStep | None = None) -> str:
        """Why its parameters may be others by now, or when it steps ``before``."""
        for step in self.program.trace.of(events.Remapped):
            if step.subject is self.obj:
                return f"its parameters are exchanged ({step.when.at})"
        return self.program.escaped(self.obj, after=created, before=before)

    def _supplanted(self, created: Step[events.Optimizer], sharding: Step[events.Sharded]) -> str:
        """Why another one may be used in its place, where none was seen to step."""
        for step in self.program.trace.of(events.Supplanted, after=created):
            if step.subject is self.obj and step.index < sharding.index and self._stepped(sharding) is None:
                return f"another optimizer takes its place ({step.when.at}), and which one steps was not seen"
        return ""

    def _stepped(self, sharding: Step[events.Sharded]) -> AnyStep | None:
        """The first time that it steps when ``sharding`` has happened: what comes later cannot mend that."""
        steps = (step for step in self.program.trace.of(events.Stepped) if step.subject is self.obj)
        # an optimizer that a driven method made steps in others only once that method is through
        return next((step for step in steps if sharding.driven_before(step)), None)

    def _unproven(self, path: PathCondition, sharding: Step[events.Sharded]) -> str:
        used = self._stepped(sharding)
        paths = [path, sharding.guard, *([used.guard] if used is not None else [])]
        return next((why for each in paths if (why := unproven(self.program, each))), "")

    def _steps(self) -> bool:
        return any(step.subject is self.obj for step in self.program.trace.of(events.Stepped))

    def _used(self, created: Step[events.Optimizer], sharding: Step[events.Sharded]) -> bool:
        """Is this optimizer used after the sharding, or is there no other that could be?"""
        if self._stepped(sharding) is not None:
            return True
        rivals = [
            step for step in self.program.trace.of(events.Optimizer, after=sharding) if step.subject is not self.obj
        ]
        rebuilt = any(
            self.program.relation(held.model, self.model) in (*RELATED, Relation.MAY)
            for step in rivals
            for held in step.what.held
        )
        return (
            created.what.proven
            and not rebuilt
            and not any(not step.what.complete for step in rivals)
            and not self._steps()
        )

    def _both_orders(self, created: Step[events.Optimizer], sharding: Step[events.Sharded]) -> bool:
        """Is the right order written out next to this one, as an alternative?"""
        here, there = created.when.at, sharding.when.at
        if here.path != there.path:
            return False
        others = [step.when.at for step in self.program.trace.of(events.Optimizer) if step.subject is not self.obj]
        return any(other.path == here.path and here.row < there.row < other.row for other in others)

    def temporary(self) -> Many[Stale]:
        """Is it built of parameters that are gathered just now? Unknown where they may be others by then."""
        found: dict[Step[events.Optimizer], Stale] = {}
        why = self._followed()
        for created, held in self.creations():
            if not created.what.proven and not self._steps():
                why = why or f"whether {created.when.at} builds an optimizer is not known"
                continue
            for call in self.program.trace.of(events.Called, before=created):
                if not call.what.hooked or call.index >= held.read or call.subject is None:
                    continue
                root = self._unsharded_root(call, held)
                if root is None or self._resharded(call, created, root):
                    continue
                if (reason := self._reshards(root)) is not None:
                    why = why or reason
                    continue
                why = why or self._changed_hands(created)
                found[created] = Stale(created.when, call.when, self.program.label(root[1]))
        if why:
            return many((), unknown(why))
        return many(found.values(), self.program.nothing(self.obj, events.Called, events.Optimizer))

    def _unsharded_root(self, call: Step[events.Called], held: events.Held) -> tuple[Step[events.Sharded], Obj] | None:
        """The outermost sharded module that this call gathers and leaves gathered."""
        assert call.subject is not None
        if not self.program.related(call.subject, held.model):
            return None
        for sharding, part in self.program.units(call.subject, Relation.SAME):
            if sharding.precedes(call) and not any(
                outer.precedes(call) for outer, _ in self.program.units(part, Relation.INSIDE)
            ):
                return sharding, part
        return None

    def _resharded(
        self, call: Step[events.Called], created: Step[events.Optimizer], root: tuple[Step[events.Sharded], Obj]
    ) -> bool:
        between = [
            step
            for step in self.program.trace.of(events.Backward, events.Reshard)
            if call.index < step.index < created.index
        ]
        return any(
            isinstance(step.what, events.Backward) or self.program.touches(step.subject, root[1]) for step in between
        )

    def _reshards(self, root: tuple[Step[events.Sharded], Obj]) -> str | None:
        """Why the root may be resharded after forward; None: it surely is not."""
        sharding = root[0]
        given = sharding.what.options.get("reshard_after_forward")
        if given in (None, Const(None), Const(False)):
            return sharding.what.options_open or None
        return f"whether the root is resharded after forward is decided elsewhere ({sharding.when.at})"


# -- learning rates and their like: does each rank get its own?
class StaticHyperparameters(AtStep[events.HyperparameterGiven]):
    def differ(self) -> Answer[Place]:
        """By what it is computed of, or by who comes here. Unknown where that was not followed."""
        machine, value = self.program.machine, self.step.what.value
        if why := self.program.managed_by or self.program.open_why:
            return unknown(why)
        computed = differs(machine, value)
        if computed:
            return yes(Place(self.step.when, "it is computed from the rank"))
        own = own_of(machine, value)
        if own is not None and not (why := agreed(self.program, own, self.step)):
            return yes(Place(own.when or self.step.when, f"it depends on {own.words}"))
        chosen = own_choice(self.program, self.step, alive=True)
        if chosen.surely:
            return yes(Place(chosen.what.when, f"each rank decides here by {chosen.what.words}"))
        if self.step.what.changes and (apart := self._changed_by_some()).possibly:
            return apart
        if own is not None or computed is None and not same_on_all_ranks(self.program, value):
            return unknown(why or "where it comes from was not followed")
        return unknown(chosen.why) if chosen.possibly else self.program.excluded("the number is the same on all ranks")

    def _changed_by_some(self) -> Answer[Place]:
        """Do only some of the ranks that have the optimizer come here?"""
        found = excluded_ranks(self.program, self.step)
        if not found.possibly:
            return found.denied()
        for made in self.program.trace.of(events.Optimizer):
            if made.subject is self.step.subject and excluded_ranks(self.program, made).possibly:
                return unknown("only some ranks may have this optimizer")
        for other in self.program.trace.of(events.HyperparameterGiven):
            if other.subject is self.step.subject and not other.guard.compatible(self.step.guard):
                return unknown(f"other ranks may change it elsewhere ({other.when.at})")
        if not found.surely:
            return found.denied()
        asked, ranks = found.what
        return yes(Place(asked or self.step.when, f"it is changed on {ranks} only"))
