"""Collectives in loops: do all ranks go through the same elements in the same order?"""

from __future__ import annotations

from astroid import nodes

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.values import Loaded, Obj, Value
from ...frontend.names import names_in
from ..launch.collectives import excluded_ranks
from ..shared.program import AtStep
from .alike import is_asked_of_kind, same_on_all_ranks
from .carrying import Carried, parts_of

_NO_DATA = frozenset({"barrier()", "monitored_barrier()"})  # which round meets which makes no difference
_ONE_BY_ONE = frozenset({"broadcast()", "full_tensor()", "redistribute()"})


class StaticRounds(AtStep[events.Collective]):
    @property
    def name(self) -> str:
        return self.step.what.name

    def differ(self) -> Answer[Place]:
        """Do the ranks come to different rounds? Unknown where each reads what it goes through from its own file."""
        doubt = ""
        for uneven in self.program.trace.of(events.Uneven):
            if not self._inside(uneven) or uneven.what.keys and all(map(self._is_common, uneven.what.keys)):
                continue
            if uneven.what.in_part and not excluded_ranks(self.program, self.step).possibly:
                continue  # this is done for an element that all ranks have
            if uneven.what.why:
                doubt = uneven.what.why
            elif not self.step.what.sure:
                doubt = "whether it gathers is decided elsewhere"
            elif self._about_element(uneven):
                return yes(Place(uneven.when, uneven.what.how))
            else:
                doubt = "what is exchanged may be the same in each round"
        given = [leaf for each in self.step.what.given or () for _, leaf in self.program.machine.alternatives(each)]
        if any(isinstance(leaf, Loaded) and leaf.per_rank for leaf in given):
            doubt = doubt or "each rank reads the names from a file of its own"
        return unknown(doubt) if doubt else self.program.nowhere(events.Uneven)

    def applies(self) -> bool:
        """A reduction of a loss lies in the loop over the batches: that is no loop over parts of a model."""
        name = self.step.what.name
        return (
            name in _ONE_BY_ONE or name not in _NO_DATA and any(map(self._inside, self.program.trace.of(events.Uneven)))
        )

    def _is_common(self, key: Value) -> bool:
        """Is a key of a dict the same on all ranks, as the names of parameters are, and keys of a batch?"""
        leaves = [leaf for _, leaf in self.program.machine.alternatives(key)]
        named = (isinstance(leaf, Obj) and is_asked_of_kind(leaf) for leaf in leaves)
        return all(named) or same_on_all_ranks(self.program, key, settings=True)

    def _inside(self, uneven: Step[events.Uneven]) -> bool:
        """Does the collective lie in this run of that loop, and not in what makes the things that it goes through?"""
        frames, chain = uneven.frames, self.step.when.chain
        return (
            uneven.what.loop in self.step.loops
            and frames == self.step.frames[: len(frames)]
            and uneven.precedes(self.step)
            and not chain[len(uneven.when.chain) - 1].within(uneven.when.at)
        )

    def _about_element(self, uneven: Step[events.Uneven]) -> bool:
        """Is the call in the loop made on, or with, what the loop goes through?"""
        loop, row = uneven.what.loop, self.step.when.chain[len(uneven.when.chain) - 1].row
        targets = [loop.target] if isinstance(loop, nodes.For) else [each.target for each in loop.generators]
        names = frozenset().union(*map(names_in, targets))
        carried = Carried(names).through(parts_of(loop))
        calls = (node for node in loop.nodes_of_class(nodes.Call) if node.lineno <= row <= (node.end_lineno or row))
        return any(map(carried.by, calls))
