"""In which order the sharded modules of a model run, written down as they do: after a hang it is all there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from ....vocab.facts import Fact
from ....vocab.finding import Moment, Site
from ... import adapter
from ...ledger import label_of
from ...session import Session
from ...sites import here

KIND = "forward-order"
END = "the end of the forward"
MOST_FORWARDS = 64  # of one step: rollouts and evaluations may take thousands, and do the same in all of them


def install(session: Session) -> None:
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    session.watch_fsdp2("first_forward", before=watch.entered)
    session.watch_fsdp2("pre_backward", before=watch.backward)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)


@dataclass(slots=True)
class _Forward:
    """A forward of a root that runs. ``names`` are those of the modules, by identity."""

    key: str
    ranks: tuple[int, ...]
    names: Mapping[int, str]
    entered: int = 0


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.running: _Forward | None = None
        self.in_backward = False
        self.counted: tuple[int, int] = (0, 0)  # the step, and how many forwards it had
        self.places: dict[int, Moment] = {}

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module of FSDP2 is entered; in a backward that is activation checkpointing, which repeats the forward."""
        state = args[0]
        if self.in_backward:
            return
        module = adapter.modules_of(state)[0]
        is_root = adapter.is_root(state)
        if is_root is None or is_root and not adapter.forward_is_running(state):
            self._end()
            self._begin(module)
        running = self.running
        if running is not None and self._ranks(module) == running.ranks:
            if (name := running.names.get(id(module))) is not None:
                self._say(running, name, self._called_at(module))

    def _called_at(self, module: nn.Module) -> Moment:
        """Models call their parts at one place: it is looked up once, since that takes longer than all the rest."""
        found = self.places.get(id(module))
        if found is None:
            found = self.places[id(module)] = here()
        return found

    def backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.in_backward = True
        self._end()

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.in_backward = False

    def _begin(self, root: nn.Module) -> None:
        step, count = self.counted
        self.counted = (step, count + 1) if step == self.session.step else (self.session.step, 1)
        if self.counted[1] > MOST_FORWARDS:
            return
        label = label_of(root)
        names = {id(part): f"{label}.{path}" if path else label for path, part in root.named_modules()}
        key = f"step {self.session.step + 1}, forward {self.counted[1]}"
        self.running = _Forward(key, self._ranks(root), names)

    def _end(self) -> None:
        if self.running is not None:
            self._say(self.running, END, here())
        self.running = None

    def _say(self, running: _Forward, name: str, when: Moment) -> None:
        position = f"{running.entered:06}"
        running.entered += 1
        places: dict[str, Site] = {position: when.at}
        self.session.state(Fact(KIND, running.key, when, running.ranks, {position: name}, places))

    def _ranks(self, module: nn.Module) -> tuple[int, ...]:
        """Experts have meshes of their own, and ranks do not share them."""
        sharding = self.session.ledger.of_module(module)
        mesh = next((group.mesh for group in sharding.groups()), None) if sharding is not None else None
        return adapter.ranks_of(mesh) if mesh is not None else ()
