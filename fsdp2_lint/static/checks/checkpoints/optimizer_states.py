"""Under which keys a checkpoint holds the state of an optimizer."""

from __future__ import annotations

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.path_conditions import TRUE, PathCondition
from ...domain.values import Obj, StateDict, Value
from ...libraries.torch.checkpoints.gathering import replaced
from ...libraries.torch.training.optim import Algorithm
from ..shared.doubts import on_path
from ..shared.program import AtStep
from .payloads import StaticPayload


class StaticWritten(AtStep[events.DcpSaved]):
    def numbered(self) -> Answer[Place]:
        """Unknown where a part of what is saved was not followed, or the optimizer may keep no state."""
        payload, why = StaticPayload(self.program, self.step), self.program.open_why
        for path, leaf in payload.leaves():
            if isinstance(leaf, StateDict) and leaf.numbered is None:
                why = why or "whether an optimizer's own state dict is in it is not known"
            owner = self._numbered(leaf)
            algorithm = owner.atom.state(Algorithm) if owner is not None else None
            if owner is None or algorithm is not None and algorithm.stateless:
                continue  # plain SGD has no state to number
            if not (doubt := self._doubt(path, leaf, owner, algorithm)):
                return yes(Place(self.step.when, self.program.label(owner)))
            why = why or doubt
        return unknown(why) if why else payload.all_parts()

    def staged(self) -> Answer[Place]:
        """Does an optimizer in it hold parameters of a module that becomes a stage of a pipeline?"""
        owners = {self._numbered(leaf) for _, leaf in StaticPayload(self.program, self.step).leaves()} - {None}
        for stage in self.program.trace.of(events.Pipelined):
            models = [model for owner in owners for model in self.program.held_by.get(owner, ())]
            if stage.together(self.step) and any(self.program.related(stage.subject, model) for model in models):
                return yes(Place(stage.when))
        return unknown("whether all ranks have the same parameters is not known")

    def _numbered(self, leaf: Value) -> Obj | None:
        """The optimizer whose own state dict this is, or which DCP asks for it."""
        machine = self.program.machine
        held = machine.leaves(leaf.owner) if isinstance(leaf, StateDict) and leaf.numbered else [(TRUE, leaf)]
        known = (each for _, each in held if isinstance(each, Obj) and each in machine.libraries.optimizers)
        return next(known, None)

    def _doubt(self, path: PathCondition, leaf: Value, owner: Obj, algorithm: Algorithm | None) -> str:
        if algorithm is None or algorithm.stateless is None:
            return f"whether {self.program.label(owner)} keeps any state is not known"
        if isinstance(leaf, StateDict) and replaced(self.program.machine, leaf) is not None:
            return "what was put in the place of its tensors is not known"
        return on_path(self.program, path, self.step.index)
