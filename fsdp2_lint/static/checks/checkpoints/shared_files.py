"""Which ranks write a file, and what each of them has for it."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import AnyStep
from ...domain.formulas import Formula, atoms, is_fork
from ...domain.path_conditions import PathCondition
from ...domain.values import Obj, StateDict, Value
from ...libraries.torch.checkpoints.gathering import WholeOf, is_each_key, replaced
from ...libraries.torch.ranks.rank import alone
from ..launch.collectives import excluded_ranks
from ..ranks.alike import same_on_all_ranks
from ..ranks.own_choices import own_choice
from ..ranks.rank_paths import split_by_rank
from ..shared.program import AtStep
from .own_parts import own_of_ranks
from .payloads import StaticPayload


class StaticSharedFile(AtStep[events.Saved]):
    def emptied(self) -> Answer[Place]:
        """Unknown behind a condition that was not asked before all ranks gathered: it may hold on rank 0 alone."""
        for path, state in self._of_rank0():
            gathered = self._gathered(state)
            if gathered is None or split_by_rank(path)[0] is not None:
                continue
            if self._payload.path_per_rank().surely:
                return self.program.excluded("each rank writes a file of its own")
            if not same_on_all_ranks(self.program, self.step.what.path):
                return unknown("whether each rank writes a file of its own is not known")
            if doubt := self._chosen(path, gathered):
                return unknown(doubt)
            words = "the state" if state.what == "optimizer" else "the state dict"
            return yes(Place(gathered.when, f"{words} of {self._owner(state)}"))
        return self._payload.all_parts()

    def of_each_rank(self) -> Answer[Place]:
        """Unknown where something of it was not followed, or only some ranks may come here."""
        left_out = excluded_ranks(self.program, self.step)
        if left_out.surely or not self._by_several():
            return self.program.excluded("not all ranks write it")
        if self._alike():
            return self._payload.all_parts()
        owned = (own_of_ranks(self.program, self.step, leaf) for _, leaf in self._payload.leaves())
        if (own := next(filter(None, owned), None)) is None:
            return unknown("whether all ranks have the same for this file is not known")
        if not same_on_all_ranks(self.program, self.step.what.path):
            return unknown("whether each rank writes a file of its own is not known")
        if left_out.possibly or own_choice(self.program, self.step).possibly:
            return unknown("whether all ranks come here is not known")
        return yes(Place(*own))

    def _by_several(self) -> bool:
        """May several ranks write it, as far as the path says, and which of them the caller chose?"""
        alone_here = alone(self.program.machine, self.step.guard)
        return not (self.step.what.chosen_by or alone_here or self._payload.path_per_rank().surely)

    def _alike(self) -> bool:
        return all(same_on_all_ranks(self.program, leaf) for _, leaf in self._payload.leaves())

    @property
    def _payload(self) -> StaticPayload:
        return StaticPayload(self.program, self.step)

    def _of_rank0(self) -> Iterator[tuple[PathCondition, StateDict]]:
        """The gathered state dicts in it that are empty on all ranks but the first, each with its path."""
        for path, leaf in self._payload.leaves():
            joined = self.step.guard.join(path)
            state = _state_of(leaf)
            filled = state is not None and replaced(self.program.machine, state) is not None
            if joined is not None and state is not None and state.rank0 and not filled:
                yield joined, state

    def _gathered(self, state: StateDict) -> AnyStep | None:
        """The call that gathered it, where all ranks come."""
        helpers = [step for step in self.program.trace.of(events.StateHelper) if step.index <= state.read]
        return helpers[-1] if helpers else None

    def _chosen(self, path: PathCondition, gathered: AnyStep) -> str:
        """Why it may be rank 0 alone that comes here, although all ranks gather."""
        if self.step.what.chosen_by:
            return f"whether {self.step.what.chosen_by[-1]} writes on all ranks was not followed"
        asked = path.blurred or any(
            not (is_fork(formula) or _of_names(formula)) and gathered.guard.decide(formula) is not truth
            for formula, truth in path.literals
        )
        return "whether all ranks that gather come here is not known" if asked else ""

    def _owner(self, state: StateDict) -> str:
        owner = next((leaf for _, leaf in self.program.machine.leaves(state.owner) if isinstance(leaf, Obj)), None)
        return self.program.label(owner) if owner is not None else "a model"


def _of_names(formula: Formula) -> bool:
    """Does it only ask which of the names in the state dict these are?"""
    return all(is_each_key(atom[1]) for atom in atoms(formula))


def _state_of(leaf: Value) -> StateDict | None:
    """The state dict, or the gathered one of which this holds each tensor, or what each was cast to."""
    if isinstance(leaf, StateDict):
        return leaf
    whole = leaf.atom.state(WholeOf) if isinstance(leaf, Obj) else None
    return whole.state if whole is not None else None
