"""What each rank has for itself, under keys of a checkpoint that are the same on all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.path_conditions import PathCondition
from ...domain.values import Const, DictV, ListV, Loaded, Obj, Rank, StateDict, Text, TupleV, Value
from ...libraries.torch.training.schedulers import SCHEDULERS
from ..ranks.alike import same_on_all_ranks
from ..ranks.rank_paths import split_by_rank
from ..shared.program import AtStep
from ..training.optimizers import StaticHyperparameters
from .own_parts import own_of_ranks
from .payloads import StaticPayload

_DEPTH = 6


class StaticSharedKeys(AtStep[events.DcpSaved]):
    def of_each_rank(self) -> Answer[Place]:
        """Unknown where a part of it was not followed, or ranks may draw their random numbers alike."""
        why = self.program.managed_by or self.program.open_why
        if why or self.step.what.alone:
            return unknown(why or "each rank may write a checkpoint or keys of its own")
        payload = self.step.what.payload
        parts = payload.items if isinstance(payload, TupleV) else (payload,)
        shared = self._shared(parts[0])
        if not shared:
            parts = parts[:1]  # what Stateful objects return may be under these keys
        for part in parts:
            for path, key, leaf, sure in self._keyed(part, self.step.guard, "", _DEPTH):
                own = own_of_ranks(self.program, self.step, leaf) if split_by_rank(path)[0] is None else None
                if own is not None and sure:
                    return yes(Place(own[0], f"{own[1]} under {key or 'one key'}"))
                if own is not None or self._may_differ(leaf, asked=shared):
                    why = f"whether each rank has its own under {key or 'one key'} is not known"
        return unknown(why) if why else StaticPayload(self.program, self.step).all_parts()

    def _may_differ(self, leaf: Value, *, asked: bool) -> bool:
        """Anything but the state of models and optimizers, settings, and what is written out.

        ``asked``: what Stateful objects return is among the parts, too.
        """
        machine = self.program.machine
        if isinstance(leaf, StateDict):
            owners = [each for _, each in machine.leaves(leaf.owner) if isinstance(each, Obj)]
            known = (self.program.concerned(each) or each in machine.libraries.optimizers for each in owners)
            return not owners or not (all(known) or all(map(self._counts_alike, owners)))
        if asked and isinstance(leaf, Obj) and leaf.atom.kind == "instance" and machine.find_attr(leaf, "state_dict"):
            return False
        return isinstance(leaf, (Obj, Rank, Text, Loaded)) and not same_on_all_ranks(self.program, leaf)

    def _counts_alike(self, scheduler: Obj) -> bool:
        """Is it one of torch's schedulers, and is all that any is given, its numbers and its steps, the same?"""
        if not scheduler.atom.origin.startswith(SCHEDULERS):
            return False
        given = self.program.trace.of(events.HyperparameterGiven)
        return not any(StaticHyperparameters(self.program, step).differ().possibly for step in given)

    def _shared(self, payload: Value) -> bool:
        """Are its keys the same on all ranks?"""
        machine = self.program.machine
        dicts = [leaf for _, leaf in machine.alternatives(payload) if isinstance(leaf, DictV)]
        keys = [key for each in dicts for key, _, _ in machine.entries(each).entries]
        return all(machine.per_rank(key) is False for key in keys)

    def _keyed(
        self, value: Value, at: PathCondition, key: str, depth: int, sure: bool = True
    ) -> Iterator[tuple[PathCondition, str, Value, bool]]:
        """All values, each with its path and its key, but for keys of the ranks' own. Are those surely the same?"""
        machine = self.program.machine
        for inner, leaf in machine.alternatives(value) if depth else ():
            if (path := at.join(inner)) is None:
                continue
            if isinstance(leaf, DictV):
                for name, way, item in machine.entries(leaf).entries:
                    own_key = machine.per_rank(name)
                    if (deeper := path.join(way)) is not None and own_key is not True:
                        known = repr(name.value) if isinstance(name, Const) else ""
                        yield from self._keyed(item, deeper, known, depth - 1, sure and own_key is False)
            elif isinstance(leaf, (ListV, TupleV)):
                for way, item in machine.contents(leaf):
                    if (deeper := path.join(way)) is not None:
                        yield from self._keyed(item, deeper, key, depth - 1, sure)
            else:
                yield path, key, leaf, sure
