"""Under which keys a checkpoint holds the state of an optimizer."""

from __future__ import annotations

from dataclasses import dataclass

from ....vocab.answers import Answer, unknown, yes
from ....vocab.finding import Place
from ...domain import events
from ...domain.events import Step
from ...domain.guards import TOP, Guard
from ...domain.values import Obj, StateDict, Value
from ...libraries.torch.checkpoints.gathering import replaced
from ...libraries.torch.training.optim import Algorithm
from ..shared.doubts import on_path
from ..shared.program import Program


@dataclass(frozen=True, slots=True)
class StaticWritten:
    program: Program
    step: Step[events.DcpSaved]

    def numbered(self) -> Answer[Place]:
        """Unknown where a part of what is saved was not followed, or the optimizer may keep no state."""
        machine, why = self.program.machine, self.program.open_why
        before, machine.guard = machine.guard, self.step.guard
        leaves = list(machine.leaves(self.step.what.payload))
        machine.guard = before
        for path, leaf in leaves:
            owner = self._numbered(leaf)
            if owner is not None:
                algorithm = owner.atom.state(Algorithm)
                if algorithm is not None and algorithm.stateless:
                    continue  # plain SGD: there is no state to number
                if doubt := self._doubt(path, leaf, owner, algorithm):
                    why = why or doubt
                    continue
                return yes(Place(self.step.when, self.program.label(owner)))
            if isinstance(leaf, Obj) and leaf.atom.kind in ("opaque", "parameter"):
                why = why or f"what {self.program.label(leaf)} holds is not known"
            why = why or machine.more_inside(leaf)
        return unknown(why) if why else self.program.excluded("all parts of what is saved were followed")

    def _numbered(self, leaf: Value) -> Obj | None:
        """The optimizer whose own state dict this is, or which DCP asks for it."""
        machine = self.program.machine
        held = machine.leaves(leaf.owner) if isinstance(leaf, StateDict) and leaf.numbered else [(TOP, leaf)]
        known = (each for _, each in held if isinstance(each, Obj) and each in machine.libraries.optimizers)
        return next(known, None)

    def _doubt(self, path: Guard, leaf: Value, owner: Obj, algorithm: Algorithm | None) -> str:
        if algorithm is None or algorithm.stateless is None:
            return f"whether {self.program.label(owner)} keeps any state is not known"
        if isinstance(leaf, StateDict) and replaced(self.program.machine, leaf) is not None:
            return "what was put in the place of its tensors is not known"
        return on_path(self.program, path, self.step.index)
