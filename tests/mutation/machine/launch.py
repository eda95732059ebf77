"""Faults of the job: the device of each process, and the data of each rank."""

from __future__ import annotations

from collections.abc import Iterator

from fsdp2_lint.static.domain import events
from fsdp2_lint.static.domain.events import Step
from fsdp2_lint.static.domain.values import NONE, Const, Obj, Rank
from fsdp2_lint.static.libraries.torch.ranks.data import Sampler

from .operator import RANK, SHOWN_BY_EDIT, Mutant, Operator, Plant, argument, keyword
from .text import Edit
from .view import View


def model_file(view: View) -> str:
    """Where the first model that is sharded is made; empty if there is none."""
    return next((view.home(unit.subject) for unit in view.trace.of(events.Sharded)), "")


class DeviceNotSet(Operator):
    name, code = "device-not-set", "FSDP101"
    fault = "no process selects its GPU, and something is put on the current one"

    def places(self, view: View) -> Iterator[Plant]:
        groups = view.trace.of(events.ProcessGroup)
        bound = any(group.what.device_id is not None for group in groups)
        if view.program.partial or bound or not any(view.trace.of(events.DeviceTouch)) or not model_file(view):
            return
        edits = tuple(dict.fromkeys(self._dropped(view, step) for step in view.trace.of(events.DeviceSet)))
        if edits and None not in edits:
            yield Plant(tuple(edit for edit in edits if edit is not None), model_file(view))

    def _dropped(self, view: View, step: Step[events.DeviceSet]) -> Edit | None:
        found = None if step.what.scoped or step.what.told else view.call(step)
        given = argument(found[1], 0, "device") if found is not None else None
        return found[0].replaced(found[1], found[0].words(given)) if found is not None and given is not None else None

    def shown(self, mutant: Mutant) -> bool:
        trace = mutant.view.trace
        return not any(trace.of(events.DeviceSet)) and any(trace.of(events.DeviceTouch))


class EpochNotSet(Operator):
    name, code = "epoch-not-set", "FSDP809"
    fault = "the sampler shuffles each epoch alike"

    def places(self, view: View) -> Iterator[Plant]:
        if model_file(view) and any(view.trace.of(events.Sampler)):
            edits = [self._dropped(view, step) for step in view.trace.of(events.EpochSet)]
            made = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
            if made and None not in edits:
                yield Plant(made, model_file(view))

    def _dropped(self, view: View, step: Step[events.EpochSet]) -> Edit | None:
        found = view.call(step)
        return found[0].replaced(found[1], "None") if found is not None else None

    def shown(self, mutant: Mutant) -> bool:
        trace = mutant.view.trace
        return not any(trace.of(events.EpochSet)) and any(trace.of(events.LoaderRead))


class NoSampler(Operator):
    name, code = "no-sampler", "FSDP808"
    fault = "all ranks read the same batches"
    unshown = SHOWN_BY_EDIT

    def places(self, view: View) -> Iterator[Plant]:
        if not model_file(view) or not any(view.trace.of(events.Sampler)):
            return
        for loader in view.trace.of(events.Loader):
            found = view.call(loader) if self._trains(view, loader.subject) else None
            sampler = keyword(found[1], "sampler") if found is not None else None
            if found is not None and sampler is not None:
                edit = found[0].replaced(sampler, "None")
                yield Plant((edit,), model_file(view), (loader.when.at,))

    def shown(self, mutant: Mutant) -> bool:
        return any(mutant.kept(events.Loader))

    def _trains(self, view: View, loader: Obj | None) -> bool:
        """Does a loop that goes through it compute gradients?"""
        reads = (read.when.at for read in view.trace.of(events.LoaderRead) if read.subject is loader)
        loops = {loop for loss in view.trace.of(events.Backward) for loop in loss.loops}
        headed = {(loop.root().file, row) for loop in loops for row in range(loop.lineno, loop.body[0].lineno)}
        return any((read.path, read.row) in headed for read in reads)


class OwnSeed(Operator):
    name, code = "own-seed", "FSDP811"
    fault = "each rank shuffles the data with a seed of its own"

    def places(self, view: View) -> Iterator[Plant]:
        if view.program.partial or not model_file(view):
            return
        for made in view.trace.of(events.Sampler):
            known = made.subject.atom.state(Sampler) if made.subject is not None else None
            found = view.call(made)
            if known is None or known.shuffle != Const(True) or known.seed != NONE or found is None:
                continue
            given = [*found[1].args, *(each.value for each in found[1].keywords)]
            yield Plant((found[0].appended(given[-1], f", seed={RANK}"),), model_file(view))

    def shown(self, mutant: Mutant) -> bool:
        made = [step.subject for step in mutant.planted(events.Sampler) if step.subject is not None]
        known = [each.atom.state(Sampler) for each in made]
        return any(each is not None and each.seed == Rank("global") for each in known)


OPERATORS = (DeviceNotSet(), EpochNotSet(), NoSampler(), OwnSeed())
