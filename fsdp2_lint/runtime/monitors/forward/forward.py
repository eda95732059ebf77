"""Forward and backward of sharded models."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule

from ....vocab.events.forward import BackwardEnded, ForwardBegun, ForwardEnded, OldWeightsMet
from ....vocab.events.initialisation import ForwardSeen, Materialised
from ....vocab.events.precision import PoliciesTaken
from ....vocab.events.sharding import GroupSettled, Offloaded, ShardingBegun
from ....vocab.finding import Moment
from ....vocab.live import FORWARD, KEEPS, UNSHARD
from ... import adapter, facts, replicas
from ...ledger import label_of
from ...session import Session
from ...sites import here, trains_here
from ..initialisation.device_placement import RuntimeOffload, RuntimePlacement, is_offloaded
from ..shared.models import RuntimeModel
from ..shared.units import RuntimeUnit
from . import closing
from .order import MOST_FORWARDS

MAX_BACKWARDS = 4  # of one step, for the comparison of gradients
MOST_BATCHES = 64  # backwards of one step, for the comparison of batches


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("first_forward", before=watch.begin, after=watch.begun)
    session.watch_fsdp2("gathering", before=watch.gather, after=watch.gathered)
    session.watch_fsdp2("pre_backward", before=watch.pre_backward)
    session.watch_fsdp2("post_backward", before=watch.post_backward)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)
    if hasattr(FSDPModule, "finalize_backward"):  # of torch 2.15
        session.watch((FSDPModule, "finalize_backward"), after=watch.finalized)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.ledger = session.ledger
        self.in_backward = False
        self.first_forward: Moment | None = None
        self.entered: Moment | None = None  # where the forward that runs was called
        self.unreadable = False  # an input since the last backward that cannot be compared
        self.backward_at: Moment | None = None
        self.backwards: dict[tuple[int, int], int] = {}  # (group, step): how many
        self.compared = (0, 0)  # the step, and how many backwards it had
        self.batches: list[facts.Batch] = []  # of forwards that no backward followed yet

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """A module of FSDP2 is entered. True where its model never ran before."""
        state = args[0]
        root = adapter.is_root(state)
        if root is False or (root and adapter.forward_is_running(state)):
            return False
        trains_here()
        if root and closing.due(self.session):
            closing.close(self.session, why="steps")
            return False
        module = adapter.modules_of(state)[0]
        self.entered = when = here()
        if root is None:
            self._first(module, when)
            if module in self.ledger.below and (alone := self.ledger.of_module(module)) is not None:
                alone.ran_alone = when
        for sharding in self.ledger.inside(module):
            if sharding.outlived and not any(group.uses_a_copy for group in sharding.groups()):
                sharding.outlived = None  # it was resharded in time
        model = RuntimeModel(self.ledger, module)
        self.session.dispatch(OldWeightsMet(when=when, model=model))
        self.session.dispatch(ForwardBegun(when=when, model=model))
        if torch.is_grad_enabled():
            self._note_batch(module, when)
        return root is None

    def _first(self, module: nn.Module, when: Any) -> None:
        self.ledger.drop_unheld()
        self.first_forward = self.first_forward or when
        called = adapter.modules_that_are_called(sys._getframe())
        top = next((each for each in reversed(called) if any(part is module for part in each.modules())), module)
        if not self.ledger.inside(module):  # sharded where this torch cannot be watched
            self.ledger.adopt(module, when)
            self.session.file.write("sharded")
        self.session.lacks(*adapter.lacking(module))
        self.ledger.add_model(top, label_of(top))
        shardings = self.ledger.inside(module)
        for sharding in shardings:
            sharding.planned.update((id(param.raw), param.planned) for param in sharding.params())
        if self.ledger.emptied:
            self.session.dispatch(Materialised(when=when, model=RuntimeModel(self.ledger, module)))
        for sharding in shardings:
            unit = RuntimeUnit(self.ledger, sharding)
            self.session.dispatch(GroupSettled(when=when, group=unit), fqn=unit.fqn)
            self.session.dispatch(PoliciesTaken(when=sharding.when, policies=unit), fqn=unit.fqn)
            if is_offloaded(sharding):
                offload = RuntimeOffload(sharding, self.session.launched)
                self.session.dispatch(Offloaded(when=sharding.when, offload=offload, unit=unit), fqn=unit.fqn)
        if shardings:
            resident = RuntimePlacement(self.ledger, module, tuple(shardings))
            self.session.dispatch(ShardingBegun(when=shardings[0].when, model=resident))
        facts.starting_weights(self.session, module, shardings)
        replicas.before_training(self.session, shardings)

    def begun(self, result: Any, first: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if first:
            facts.plan(self.session, adapter.modules_of(args[0])[0])

    def _note_batch(self, module: nn.Module, when: Any) -> None:
        if not self.session.compares("batch") or adapter.is_captured():
            return
        read = facts.batch(self.session, module, when, adapter.inputs_of_forward(sys._getframe()))
        if read is None or len(self.batches) >= MOST_FORWARDS:
            self.unreadable = True
        elif read.digest:
            self.batches.append(read)

    def gather(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return adapter.Group(args[0]).has_just_gathered

    def gathered(self, result: Any, gathers: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sharding = self.ledger.of_group(adapter.Group(args[0])) if gathers else None
        if sharding is None:
            return
        if sharding.unsharded_at is not None:
            sharding.gathered_at, sharding.gathered_by = sharding.unsharded_at, UNSHARD
            sharding.unsharded_at = None
        elif adapter.Group(args[0]).keeps_a_copy:
            # The place that counts is where the model is called, not where it calls the part that is gathered.
            sharding.gathered_at, sharding.gathered_by = self.entered or here(), FORWARD

    def pre_backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a group is gathered for backward: the first one finds everything as forward left it."""
        if self.in_backward:
            return
        self.in_backward = True
        self.backward_at = self.ledger.backward_at = when = here()
        self.entered = None
        top = self.ledger.top_of_group(adapter.Group(args[0]))
        if top is not None and self.first_forward is not None and self.ledger.emptied:
            self.session.dispatch(ForwardSeen(when=self.first_forward, model=RuntimeModel(self.ledger, top)))
        for sharding in self.ledger.inside(top) if top is not None else ():
            unit = RuntimeUnit(self.ledger, sharding)
            self.session.dispatch(ForwardEnded(when=when, unit=unit), fqn=unit.fqn)

    def post_backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the gradients of a group are reduced."""
        group = adapter.Group(args[0])
        key = (id(group.raw), self.session.step)
        self.backwards[key] = self.backwards.get(key, 0) + 1
        if group.reduces_gradients and not group.fills_in_gradients and self.backwards[key] <= MAX_BACKWARDS:
            when = self.backward_at or here()  # there are many groups, and asking takes its time
            facts.group_gradients(self.session, group, self.backwards[key], when)

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.in_backward, self.backward_at = False, None
        module = adapter.modules_of(args[0])[0]
        if model := self.ledger.model_of(module):
            model.trained = True
        for built in self.ledger.optimizers:
            built.stepped = None
        if not adapter.backward_is_open(args[0]):
            self._look_at_groups(module)
        self.compared = (self.session.step, self.compared[1] + 1 if self.compared[0] == self.session.step else 1)
        if self.batches and not self.unreadable and self.compared[1] <= MOST_BATCHES:
            facts.batches(self.session, self.batches)
        self.batches.clear()
        self.unreadable = False

    def finalized(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Groups that no gradient of an input has reached are resharded here, and not by the backward."""
        self._look_at_groups(args[0])

    def _look_at_groups(self, module: nn.Module) -> None:
        when = here()
        for sharding in self.ledger.inside(module):
            groups = sharding.groups()
            if not any(group.uses_a_copy for group in groups):
                sharding.gathered_at = sharding.unsharded_at = None
            elif sharding.kept_after_backward and not all(group.reshards_after_backward for group in groups):
                sharding.gathered_at, sharding.gathered_by = sharding.kept_after_backward, KEEPS
            unit = RuntimeUnit(self.ledger, sharding, after_backward=True)
            self.session.dispatch(BackwardEnded(when=when, unit=unit), fqn=unit.fqn)
