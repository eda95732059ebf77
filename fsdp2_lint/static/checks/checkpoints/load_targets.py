"""What ``dcp.load`` fills: is anything of it there, and used afterwards?"""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.values import NONE, DictV, Obj, ParamV, StateDict, Value
from ...libraries.computed import Computation
from ...libraries.torch.checkpoints.load_targets import Planner
from ..shared.objects import RELATED
from ..shared.program import AtStep, OfStep
from .state_helpers import without_state


class StaticLoadTarget(AtStep[events.DcpLoad]):
    name = "dcp.load"

    def receives_nothing(self) -> Answer[str]:
        """Unknown where a part of the dict was not followed, or a planner may put more in."""
        if self.step.what.planned:
            return unknown("a planner of its own may put in what is missing")
        for path, words in self.step.what.nothing:
            if self.step.guard.compatible(path):
                return yes(words)
        why = ""
        for path, key, part in self.step.what.empty:
            if not self.step.guard.compatible(path):
                continue
            if self._is_used(part):
                return yes(f"an empty dict under {key}, which is then used")
            why = f"what the empty dict under {key} is there for was not followed"
        for path, optimizer, name in self.step.what.optimizers:
            with_it = self.step.guard.join(path)  # a run that loads, and has the optimizer in what it fills
            if with_it is None:
                continue
            cold = without_state(self.program, optimizer, self.step, with_it)
            if cold.surely:
                return yes(f"{name}, the state of an optimizer that has not stepped yet, which is empty")
            why = why or cold.why
        why = why or self._perhaps_copies()
        return unknown(why) if why else self.program.excluded("what it fills was followed, and is there")

    def _perhaps_copies(self) -> str:
        """Options of the helper that made it may move it to the CPU: then the model gets nothing of it."""
        made = {each.made for each in self.step.what.gone}
        for helper in self.program.trace.of(events.StateHelper):
            if helper.when.at in made and any(option != NONE for _, option in helper.what.options):
                return f"whether the tensors that {helper.when.at} gives are the model's own is not known"
        for key, held in self.step.what.copies:
            if not all(self._is_used(leaf) for _, leaf in self.program.machine.alternatives(held)):
                return f"whether anything keeps the copies of parameters under {key} is not known"
        return ""

    def _is_used(self, part: Value) -> bool:
        """Is a model filled from this dict afterwards, as it is?"""
        trace = self.program.trace
        set_from = (leaf for each in trace.of(events.StateHelper, after=self.step) for leaf in each.what.given)
        loads = trace.of(events.Loaded, after=self.step)
        loaded = (leaf for each in loads for _, leaf in self.program.machine.alternatives(each.what.payload))
        return any(leaf == part for leaf in (*set_from, *loaded))

    def misses_unseen(self) -> Answer[Place]:
        """Such a load returns nothing, so whoever looks at what fits reads the names in the checkpoint."""
        why = ""
        for path, leaf in self.step.what.planners:
            planner = leaf.atom.state(Planner) if isinstance(leaf, Obj) and leaf.parent is None else None
            if leaf == NONE or planner is not None and planner.partial is False:
                continue
            if planner is None or not planner.partial:
                why = why or "what the planner of this load allows for is not known"
            elif self.program.project.mentions(".read_metadata"):
                why = why or "the project reads the names in a checkpoint, perhaps to compare them"
            elif self.step.guard.compatible(path):
                return yes(Place(planner.made, "no error, where a name is not in the checkpoint"))
        return unknown(why) if why else self.program.excluded("each name has to be in the checkpoint")


class StaticLenient(OfStep[events.Loaded]):
    """A model, as its ``load_state_dict`` finds it."""

    name = "load_state_dict"

    def misses_unseen(self) -> Answer[Place]:
        """Only of a sharded model, as with the helpers of DCP."""
        if self.step.what.strict or not self.step.what.dropped:
            return self.program.excluded("it is strict, or what it returns is kept")
        machine = self.program.machine
        with machine.on_path(self.step.guard):
            given = [leaf for _, leaf in machine.leaves(self.step.what.payload)]
            held = [machine.entries(leaf) for leaf in given if isinstance(leaf, DictV)]
        if given and all(isinstance(leaf, StateDict) and leaf.owner == self.obj for leaf in given):
            return self.program.excluded("its names are those that the model gave itself")
        if any(not each.entries and not each.open_why for each in held):
            return self.program.excluded("there is nothing in it to leave out")
        if why := next((each.open_why for each in held if not each.entries), ""):
            return unknown(f"whose names it has is not known: {why}")
        if any(self._is_own(value) for each in held for _, _, value in each.entries):
            return unknown(f"what it loads into {self.label} is perhaps what {self.label} has already")
        if any(self._is_computed(value) for each in held for _, _, value in each.entries):
            return unknown("its tensors are computed one by one, perhaps of those that the model has under these names")
        if held and (filled := next(self.program.trace.of(events.DcpLoad, before=self.step), None)) is not None:
            return unknown(f"its names may be those of the model, which {filled.when.at} has filled")
        sharded = (each for each, _ in self.program.units(self.obj, *RELATED) if each.driven_before(self.step))
        if any(each.guard.compatible(self.step.guard) for each in sharded):
            return yes(Place(self.step.when, "the names that do not fit are returned, and dropped"))
        return self.program.nothing(self.obj, events.Sharded, before=self.step)

    def _is_computed(self, value: Value) -> bool:
        """Such as a shard of what was read, which takes the placements of the model's own tensor."""
        held = [leaf for _, leaf in self.program.machine.alternatives(value)]
        made = [leaf.atom for leaf in held if isinstance(leaf, Obj) and leaf.parent is None]
        return any(each.state(Computation) is not None or each.parameter is not None for each in made)

    def _is_own(self, value: Value) -> bool:
        """Is it a parameter or a tensor of the model itself, such as one that is put into its place again?"""
        held = (leaf for _, leaf in self.program.machine.alternatives(value))
        own = (leaf.model if isinstance(leaf, ParamV) else leaf for leaf in held)
        return any(isinstance(leaf, Obj) and self.program.touches(self.obj, leaf) for leaf in own)
