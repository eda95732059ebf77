"""Faults of the first values that weights get."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import AnyStep, Step

from .operator import Mutant, Operator, Plant, argument
from .text import Edit, Rows, short
from .view import View

WRITES = (events.Written, events.Loaded, events.StateSet, events.DcpLoad, events.Reset)


class NeverInitialised(Operator):
    name, code = "never-initialised", "FSDP201"
    fault = "weights get memory, and no values"

    def places(self, view: View) -> Iterator[Plant]:
        if not any(view.trace.of(events.Stepped)):
            return  # nothing is trained
        for emptied in view.trace.of(events.Emptied):
            edits = [self._blank(view, emptied, write) for write in self._writes(view, emptied)]
            made = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
            if made and None not in edits and view.learns(emptied.subject):
                yield Plant(made, view.home(emptied.subject), (emptied.when.at,))

    def _writes(self, view: View, emptied: Step[events.Emptied]) -> Iterator[AnyStep]:
        """All that may give it values before it is called."""
        called = self._called(view, emptied)
        for step in view.trace.of(*WRITES) if called is not None else ():
            between = called is not None and emptied.index < step.index < called.index
            if between and (step.subject is None or view.program.touches(step.subject, emptied.subject)):
                yield step

    def _called(self, view: View, emptied: Step[events.Emptied]) -> Step[events.Called] | None:
        calls = (call for call in view.trace.of(events.Called) if emptied.precedes(call))
        return next((call for call in calls if view.program.related(call.subject, emptied.subject)), None)

    def _blank(self, view: View, emptied: Step[events.Emptied], write: AnyStep) -> Edit | None:
        found, called = view.in_order(emptied, write), self._called(view, emptied)
        if found is None or called is None or not short(found[2]):
            return None
        edit = found[0].blank(found[2])
        lost = Rows(edit.path, edit.start[0], edit.end[0])
        return None if any(map(lost.meet, called.when.chain)) else edit

    def shown(self, mutant: Mutant) -> bool:
        emptied = [step for step in mutant.kept(events.Emptied) if self._called(mutant.view, step) is not None]
        return bool(emptied) and not any(any(self._writes(mutant.view, step)) for step in emptied)


class DrawnOnCpu(Operator):
    name, code = "drawn-on-cpu", "FSDP208"
    fault = "shards lie on the CPU when all ranks draw the same numbers for them"

    def places(self, view: View) -> Iterator[Plant]:
        for emptied in view.trace.of(events.Emptied):
            found = view.call(emptied) if self._drawn(view, emptied) else None
            device = argument(found[1], 0, "device") if found is not None else None
            if found is not None and device is not None and emptied.what.to == "cuda":
                yield Plant((found[0].replaced(device, '"cpu"'),), view.home(emptied.subject), (emptied.when.at,))

    def _drawn(self, view: View, emptied: Step[events.Emptied]) -> bool:
        """Is it drawn after that, of one seed, and loaded nowhere?"""
        draws = [each for each in view.trace.of(events.Drawn, after=emptied) if emptied.index < each.index]
        mine = [each for each in draws if view.program.touches(emptied.subject, each.subject)]
        seeds = [seed for seed in view.trace.of(events.Seeded) if "torch" in seed.what.generators]
        before = [seed for seed in seeds if mine and seed.index < mine[0].index]
        loaded = any(view.trace.of(events.Loaded, events.StateSet, events.DcpLoad, after=emptied))
        return bool(before) and before[-1].what.differs is False and not loaded and view.learns(emptied.subject)

    def shown(self, mutant: Mutant) -> bool:
        return any(step.what.to == "cpu" for step in mutant.kept(events.Emptied))


OPERATORS = (NeverInitialised(), DrawnOnCpu())
