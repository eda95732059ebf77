"""Models without values: does every run that trains them fill them before?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ....vocab.answers import Answer, Many, No, Unknown, many, unknown, yes
from ....vocab.declared import record
from ....vocab.finding import Moment, Place
from ...budget import BUDGET
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Formula, atoms, both, negate
from ...domain.path_conditions import PathCondition
from ...domain.relations import Relation
from ...domain.values import Const, Ext, Obj, Rank
from ...libraries.torch.checkpoints.state_helpers import lenient
from ...libraries.torch.initialisation.blank import buffers, of_buffers
from ..shared.conditions import checked_on, objects_in
from ..shared.program import Program, Subject
from ..shared.structure import has_parameters, leaves, parts_unseen

WRITES = (events.Written, events.Loaded)
WITH_WEIGHTS = frozenset(
    """Linear Bilinear Embedding EmbeddingBag Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
    MultiheadAttention LSTM GRU RNN""".split()
)
# Functions, and methods of paths, that ask what files there are.
_ASKS_FOR_FILES = frozenset(
    """os.path.exists os.path.isfile os.path.isdir os.path.islink os.path.lexists os.listdir os.scandir os.access
    glob.glob glob.iglob exists() is_file() is_dir() glob() rglob() iterdir()""".split()
)


@record
class _Buffer:
    """A buffer of a model, whether a state dict holds it, and whether the model that is looked at surely has it."""

    name: str
    obj: Obj
    held: bool
    surely: bool


@dataclass(eq=False)
class StaticEmptied(Subject):
    """A model as ``begin`` left it without values, in the runs in which ``call`` runs it, up to ``end``."""

    program: Program
    obj: Obj
    begin: AnyStep
    call: AnyStep
    end: AnyStep

    def uninitialised(self) -> Answer[tuple[Moment, list[str]]]:
        if not self._owns_parameters():
            return self.program.excluded(f"{self.label} has no parameters")
        if self._past_all is not None:
            names = [f"the parameters of {self.label}"]
        elif not (names := self._left_out()):
            return self.written_for_sure()
        why = self.not_followed() or self._asked_together()
        return unknown(why) if why else yes((self.begin.when, names))

    def _asked_together(self) -> str:
        """Why no run may leave it empty: what a configuration asks for may go with other classes that it names."""
        asked = (formula for formula, _ in self.begin.guard.literals)
        settings = (obj for formula in asked for atom in atoms(formula) for obj in objects_in(atom))
        if self.program.machine.libraries.configured is None or not any(map(_is_setting, settings)):
            return ""
        return f"whether a configuration names {self.label} and asks for {self.begin.when.at} is not known"

    def _left_out(self) -> list[str]:
        """Layers that none of the writes has to do with, in a run that loads nothing: a load brings all of them."""
        program = self.program
        path = self.without([step for step in self.writes if isinstance(step.what, events.Loaded)])
        if path is None or any(step.subject is None for step in self.writes):
            return []
        steps = [step for step in self.writes if isinstance(step.what, events.Written)]
        written = [step.subject for step in steps if step.guard.compatible(path)]
        written += [part for step in program.trace.of(events.Tied) for part in (step.subject, step.what.other)]
        return [
            name
            for name, layer in self._old_layers()
            if _has_weights(layer) and not any(program.touches(layer, part) for part in written)
        ]

    def _old_layers(self) -> list[tuple[str, Obj]]:
        """The layers that were there when it lost its values, by name."""
        return [
            (f"{self.label}.{name.replace('.[*]', '[*]')}", layer)
            for name, layer in leaves(self.program.machine, self.obj)
            if self.program.was_part(layer, self.obj, self.begin)
        ]

    def written_for_sure(self) -> No | Unknown:
        """No run was found that gets past all writes; those that may be none of this model do not count as proof."""
        if (vague := next((step for step in self.writes if step.subject is None), None)) is not None:
            return unknown(f"whether {vague.when.at} writes the parameters of {self.label} is not known")
        # a load brings all of them; what goes through the parts writes those that have a method for it
        if all(isinstance(step.what, events.Written) for step in self.writes) and (
            why := self.program.parts_unseen(self.obj)
        ):
            return unknown(f"{why}, and so whether all of it is written")
        if why := self._perhaps_left_out():
            return unknown(why)
        return self.program.nothing(self.obj, *WRITES, after=self.begin, before=self.call)

    def _perhaps_left_out(self) -> str:
        """Why a layer may stay without values: what writes asks first what the layer is, and more is not known."""
        if not self.writes:
            return f"how a run comes to {self.call.when.at} is not known"
        for name, layer in self._old_layers() or [(self.label, self.obj)]:
            sure = [step for step in self.writes if self._writes_part(step, layer)]
            if not self.surely_by(sure):
                return f"whether {self.writes[-1].when.at} writes {name} too is not known"
        return ""

    def _writes_part(self, step: AnyStep, layer: Obj) -> bool:
        """Does it write the layer, or a parameter of it, and not perhaps another? A load that is not strict may not.

        A layer in it, as the output of attention, is not all of it.
        """
        inner = step.subject is not None and step.subject.parent is None and step.subject.atom is not layer.atom
        if inner and self.program.relation(step.subject, layer) is Relation.INSIDE:
            return False
        return not self.leaves_some(step) and self.program.related(step.subject, layer)

    def surely_by(self, writes: list[AnyStep]) -> bool:
        """Does each run come by one of these, whatever they ask first?"""
        return bool(writes) and self._past(writes, self._all_asked) is None

    def leaves_some(self, step: AnyStep) -> bool:
        """Is it a load that is not strict?"""
        if isinstance(step.what, events.Loaded):
            return not step.what.strict
        given = [
            leaf
            for helper in self.program.trace.of(events.StateHelper)
            if helper.when == step.when
            for _, leaf in helper.what.options
        ]
        return any(map(lenient, given))

    def _all_asked(self, step: AnyStep) -> Formula:
        return both([formula if truth else negate(formula) for formula, truth in step.guard.literals])

    def _owns_parameters(self) -> bool:
        """A module that was followed to all its parts, and has none, needs no values."""
        machine = self.program.machine
        if self.obj.atom.kind != "instance" or has_parameters(machine, self.obj):
            return True
        return bool(parts_unseen(machine, self.obj, self.label))

    def written_in_other_runs(self) -> Many[Place]:
        words = "this writes them, but not every run and every rank comes here"
        in_part = self._past_all is None
        places = (
            Place(step.when, "this writes others" if in_part and isinstance(step.what, events.Written) else words)
            for step in self.writes
        )
        return many(places, self.program.among(*WRITES))

    def unrestored_buffers(self) -> Answer[tuple[Moment, list[str]]]:
        all_of_them = [(each, self._restoring(each)) for each in self._buffers()]
        buffers = [(each.name, steps) for each, steps in all_of_them if each.surely]
        names = [name for name, steps in buffers if self.without(steps) is not None]
        if not names:
            for name, steps in buffers:
                if not self.surely_by([step for step in steps if step.subject and not self.leaves_some(step)]):
                    return unknown(f"whether {steps[-1].when.at} computes {name} is not known")
            for each, steps in all_of_them:
                if not each.surely and not self.surely_by(steps):
                    return unknown(f"whether the model has {each.name} is decided elsewhere")
            return self.program.nothing(self.obj, events.Written, after=self.begin, before=self.call, parts=True)
        why = self.not_followed()
        return unknown(why) if why else yes((self.begin.when, names))

    def _buffers(self) -> Iterator[_Buffer]:
        """Buffers of the model and of what it is made of."""
        for module in [self.obj, *self.program.machine.parents]:
            registered = buffers(module.atom) if module.parent is None else None
            if registered and self.program.relation(self.obj, module) in (Relation.SAME, Relation.CONTAINS):
                address = [str(item) for item in self.program.address(module)[1] if not str(item).startswith("[")]
                for name, guard in registered.items():
                    surely = guard is None or self.begin.guard.implies(self._unchecked(guard))
                    yield _Buffer(".".join([*address, name]), module.child(name), held=guard is None, surely=surely)

    def _unchecked(self, guard: PathCondition) -> PathCondition:
        """Without what is checked on the way: a run that goes on has passed it."""
        return guard.without_literals(checked_on(self.program.machine, guard))

    def _restoring(self, buffer: _Buffer) -> list[AnyStep]:
        """What may touch it between its loss and the end of the first pass. A state dict does if it holds it."""
        found = [
            step
            for step in self.program.trace.of(*WRITES)
            if isinstance(step.what, events.Loaded) or step.what.buffers or step.what.from_state
            if buffer.held or isinstance(step.what, events.Written) and step.what.buffers
        ]
        return [
            step
            for step in found
            if (self._somewhere(step) if step.subject is None else self.program.touches(buffer.obj, step.subject))
            if self.begin.index < step.index < self.end.index or step.context
        ]

    @cached_property
    def writes(self) -> list[AnyStep]:
        """What may give it values between its begin and its training."""
        return [
            step
            for step in self.program.trace.of(*WRITES)
            if (self.begin.index < step.index < self.call.index or step.context) and self._may_write(step)
        ]

    def _may_write(self, step: AnyStep) -> bool:
        """Where nobody knows what is written, it may be this."""
        if step.subject is None:
            return self._somewhere(step)
        return not of_buffers(step.subject) and self.program.touches(self.obj, step.subject)

    def _somewhere(self, step: AnyStep) -> bool:
        """May what is written be a part of this model? Not what a call gave that cannot have had the model in hand."""
        of = step.what.of if isinstance(step.what, events.Written) else None
        if of is None or of.atom.site is None or self.program.unseen(self.obj, before=self.end):
            return True
        here = (each for each in self.program.trace.of(events.Written) if each.place == step.place)
        return any(each.subject is not None and self.program.touches(self.obj, each.subject) for each in here)

    @cached_property
    def _past_all(self) -> PathCondition | None:
        return self.without(self.writes)

    def without(self, writes: list[AnyStep]) -> PathCondition | None:
        """The path of a run that comes to the training by none of these; None where no such run is known."""
        return self._past(writes, self._condition)

    def _past(self, writes: list[AnyStep], condition: Callable[[AnyStep], Formula]) -> PathCondition | None:
        """The same, where ``condition`` tells what brings a run to each of them."""
        path = self.begin.guard.join(self.call.guard)
        path = path.join(self.end.guard) if path is not None else None
        conditions = [[*_parts(formula)] for formula in dict.fromkeys(map(condition, writes))]
        asked: dict[Any, set[Any]] = {}
        for part in (part for parts in conditions for part in parts if part[0] == "is"):
            asked.setdefault(part[1], set()).add(part[2])
        # several values of one setting: they are all that there are, as far as anybody knows
        if path is None or len(conditions) > BUDGET.choices or any(len(values) > 1 for values in asked.values()):
            return None
        return _avoiding(path, sorted(conditions, key=len))

    def _condition(self, step: AnyStep) -> Formula:
        """What a run chooses when it comes to ``step``; what it asks about the model itself is no choice.

        Nor is what is checked on the way: a run that answers otherwise ends there.
        """
        checked = checked_on(self.program.machine, step.guard)
        kept = [
            formula if truth else negate(formula)
            for formula, truth in step.guard.literals
            if (formula, truth) not in checked
            and formula not in step.guard.blurred
            and all(self._is_choice(leaf[1]) for leaf in atoms(formula))
        ]
        return both(kept)

    def _is_choice(self, asked: Any) -> bool:
        """Is this a setting, a rank, or whether there is a checkpoint? All else may be a filter over parameters."""
        if isinstance(asked, tuple):
            return asked[0] in ("compare", "in") and all(map(self._is_choice, asked[1:]))
        if isinstance(asked, Obj):
            atom = asked.atom
            if self.program.touches(self.obj, asked) or atom.module:
                return False
            found = atom.kind == "unknown" and (atom.origin in _ASKS_FOR_FILES or atom.apart)
            return found or atom.kind in ("configuration", "parameter", "instance")
        return isinstance(asked, (Rank, Const, str))

    def not_followed(self) -> str:
        """Why more may have been written than was seen."""
        return (
            self.program.open_why
            or self.program.escaped(self.obj, after=self.begin, before=self.call)
            or self._kept_by()
            or self.program.managed_by
        )

    def _kept_by(self) -> str:
        """Who got hold of it before, and may fill it when it is called again; a function that ended does not."""
        for step, part in self.program.escaped_parts.get(self.program.address(self.obj)[0], ()):
            if step.index < self.begin.index and not step.what.who.startswith("a recursive call of"):
                if self.program.touches(self.obj, part) and step.together(self.begin):
                    return f"{self.label} is handed to {step.what.who} ({step.when.at}), which was not followed"
        return ""


def _is_setting(obj: Obj) -> bool:
    return obj.atom.kind in ("configuration", "parameter")


def _has_weights(layer: Obj) -> bool:
    """Does it have parameters whatever it was given? A norm may have none."""
    cls = layer.atom.cls
    return bool(layer.atom.parameter) or isinstance(cls, Ext) and cls.qname.removeprefix("torch.nn.") in WITH_WEIGHTS


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """What a condition asks for; nothing where it always holds."""
    if isinstance(formula, bool):
        return ()
    return tuple(formula[1]) if formula[0] == "and" else (formula,)


def _avoiding(path: PathCondition, conditions: list[list[Formula]]) -> PathCondition | None:
    """A path on which none of these conditions holds: a part of each does not."""
    if not conditions:
        return path
    for part in conditions[0]:
        narrowed = path.add(part, False)
        found = _avoiding(narrowed, conditions[1:]) if narrowed is not None else None
        if found is not None:
            return found
    return None
