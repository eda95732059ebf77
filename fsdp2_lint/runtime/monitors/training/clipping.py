"""Gradients that are clipped by their norm."""

from __future__ import annotations

import math
import sys
import weakref
from dataclasses import dataclass
from typing import Any

from torch import nn

from ....vocab.answers import Answer, Many, many, yes
from ....vocab.events.training import ClippedUsed, GradientsClipped, Unseen
from ....vocab.finding import Moment, Place
from ... import adapter
from ...closure import looked
from ...ledger import Ledger, Sharding
from ...notes import Clip
from ...session import Session
from ...sites import here
from ..shared.units import OfSharding, OfShardings


@dataclass(frozen=True, slots=True)
class RuntimeClip(OfSharding):
    clipped: frozenset[int]  # parameters, by identity
    own_norm: bool  # is it the norm of these alone?
    stage: int = 1  # how many ranks run the pipeline that it is a stage of

    @property
    def label(self) -> str:
        return self.model_key.label

    def used_before(self) -> Answer[Place]:
        holders = [
            built
            for built in self.ledger.optimizers
            if any(id(parameter) in self.clipped for parameter in built.held())
        ]
        steps = [built.stepped for built in holders if built.stepped is not None]
        if not steps or len(steps) < len(holders):
            return looked("no step used these gradients before")
        return yes(Place(steps[-1], f"this step uses the gradients of {self.label}"))

    def by_its_own_norm(self) -> Answer[Place]:
        if self.stage < 2 or not self.own_norm:
            return looked("stages of pipelines were looked for, and whose norm it is")
        return yes(Place(self.sharding.when, "what the stage runs is sharded here"))


@dataclass(frozen=True, slots=True)
class RuntimeLimited(OfShardings):
    """A model as a step finds it that uses the gradients of ``shardings``."""

    def unseen(self) -> Many[Unseen]:
        return many(
            (
                Unseen(each.label, clip.when, clip.unseen)
                for each in self.shardings
                if (clip := each.gradients.clip) is not None
                and clip.unseen is not None
                and any(param.sharded.grad is not None for param in each.params())
            ),
            looked("what was clipped is what the optimizer uses"),
        )


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("clipping", before=lambda args, kwargs: watch.clip(*args, **kwargs))
    session.watch_fsdp2("first_forward", before=watch.entered)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.met: weakref.WeakSet[nn.Module] = weakref.WeakSet()  # modules of FSDP2 that have run

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A stage of a pipeline shows when it runs for the first time."""
        module = adapter.modules_of(args[0])[0]
        if module not in self.met:
            self.met.add(module)
            if (stage := adapter.stage_that_runs(sys._getframe())) is not None:
                self.session.ledger.stages[stage.module] = stage.ranks

    def clip(self, parameters: Any, max_norm: float, *rest: Any, **further: Any) -> None:
        """By now torch has made a list of the parameters; an iterator of somebody else's is left alone."""
        if not isinstance(parameters, list) or math.isinf(max_norm):
            return
        ledger = self.session.ledger
        managed = ledger.managed(ledger.shardings)
        sharding = next((managed[id(each)][0] for each in parameters if id(each) in managed), None)
        if sharding is not None:
            clipped = frozenset(map(id, parameters))
            _note(ledger, clipped)
            own_norm = adapter.clips_by_their_own_norm(sys._getframe())
            clip = RuntimeClip(ledger, sharding, clipped, own_norm, ledger.stage_of(sharding))
            self.session.dispatch(GradientsClipped(when=here(), model=clip))


def _note(ledger: Ledger, clipped: frozenset[int]) -> None:
    """What this clipping sees of each group that it was given parameters of."""
    when = here()
    for sharding in ledger.shardings:
        params = [each for each in sharding.params() if not clipped.isdisjoint(map(id, (each.sharded, *each.copies)))]
        if params:
            sharding.gradients.clip = Clip(when, _hidden(ledger, sharding, params, clipped))


def _hidden(ledger: Ledger, sharding: Sharding, params: list[adapter.Param], clipped: frozenset[int]) -> Place | None:
    """Why it sees no gradients of a group, where there are some."""
    copies = [copy for each in params for copy in each.copies if id(copy) in clipped]
    shards = [each.sharded for each in params if id(each.sharded) in clipped]
    if any(each.grad is not None for each in (*copies, *shards)):
        return None
    if copies and any(each.sharded.grad is not None for each in params):
        gathered = sharding.gathered_at or sharding.when
        return Place(gathered, "is gathered: gathered parameters have no gradients, which are with the shards")
    if shards and any(map(adapter.holds_gradients, sharding.groups())):
        backward = ledger.backward_at or sharding.when
        return Place(backward, "has no gradients yet: the backward before it added them up without reducing them")
    return None


def settle(session: Session, when: Moment, top: nn.Module, shardings: list[Sharding]) -> None:
    """Before a step: what it uses was clipped, or not. Where nothing was clipped there is nothing to ask."""
    if clipped := tuple(each for each in shardings if each.gradients.clip is not None):
        session.dispatch(ClippedUsed(when=when, model=RuntimeLimited(session.ledger, top, clipped)))
        for sharding in clipped:
            sharding.gradients.clip = None
