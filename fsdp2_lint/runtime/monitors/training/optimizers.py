"""Optimizers: how they are built, and their steps."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any

from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.events.precision import WeightsTrained
from ....vocab.events.training import GradientsUsed, OptimizerSettled
from ....vocab.finding import Place
from ....vocab.live import UNSHARD, Leftover
from ....vocab.objects import Stale
from ....vocab.optimizers import on_shards
from ... import adapter, facts
from ...closure import looked
from ...ledger import Built, Ledger, Sharding, Trained
from ...patches import argument
from ...session import Session
from ...sites import construction_of, here, trains_here
from ..forward import closing
from ..shared.models import RuntimeModel
from ..shared.units import LOW, unfinished
from . import clipping, fsdp1_methods, shard_math


@dataclass(frozen=True, slots=True)
class RuntimeOptimizer:
    """As one model sees it: the answers are about the parameters of these shardings."""

    ledger: Ledger
    built: Built
    shardings: tuple[Sharding, ...]
    model: str

    @property
    def label(self) -> str:
        return self.built.label

    def replaced(self) -> Many[Stale]:
        found: dict[Stale, None] = {}
        for parameter in self.built.held():
            original = self.ledger.original(parameter)
            if original is None or original.sharding not in self.shardings or not original.was_replaced:
                continue
            found[Stale(self.built.took(parameter), original.sharding.when, self.model)] = None
        return many(found, looked("what the optimizer holds was compared with the model"))

    def temporary(self) -> Many[Stale]:
        held = {id(parameter): parameter for parameter in self.built.held()}
        found: dict[Stale, None] = {}
        for identity, sharding, gathered in self.built.temporary:
            if sharding in self.shardings and identity in held:
                found[Stale(self.built.took(held[identity]), gathered, self.model)] = None
        return many(found, looked("what the optimizer holds was compared with the model"))

    def unsafe_on_shards(self) -> Answer[Place]:
        cls = type(self.built.optimizer())
        words = on_shards(f"{cls.__module__}.{cls.__name__}")
        managed = self.ledger.managed(self.shardings)
        if words:
            for parameter in self.built.held():
                if id(parameter) in managed:
                    return yes(Place(managed[id(parameter)][0].when, words))
        if self.built.mixes is not None and self.built.mixes[0] in self.shardings:
            sharding, name, operation = self.built.mixes
            words = f"updates {name} by what {operation.strip('_')} makes of this rank's shards alone"
            return yes(Place(sharding.when, words))
        return looked("the class of the optimizer was looked at")

    def low_precision(self) -> Answer[Place]:
        if not type(self.built.optimizer()).__module__.startswith("torch.optim"):
            return unknown(f"whether {self.label} keeps full precision elsewhere is not known")
        managed = self.ledger.managed(self.shardings)
        low = [
            Place(managed[id(parameter)][0].when, adapter.dtype_name(parameter.dtype))
            for parameter in self.built.held()
            if id(parameter) in managed
            and managed[id(parameter)][1].sharded is parameter  # gathered copies are of the dtype of the computation
            and parameter.requires_grad
            and parameter.dtype in LOW
        ]
        return yes(low[0]) if low else looked("the dtypes of what the optimizer holds were read")


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch((Optimizer, "__init__"), after=watch.built)
    session.watch((Optimizer, "add_param_group"), after=watch.extended)
    session.hot.keep(register_optimizer_step_pre_hook(session.quietly(watch.before_step)))
    session.hot.keep(register_optimizer_step_post_hook(session.quietly(watch.after_step)))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.ledger = session.ledger
        self.settled: set[tuple[int, int]] = set()

    def built(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._record(args[0])

    def extended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Groups that come later; those of the construction are noted when it has ended."""
        if built := self.ledger.built(args[0]):
            when = here()
            built.added.update((id(parameter), when) for parameter in args[0].param_groups[-1]["params"])
            self._note_temporary(built)

    def _record(self, optimizer: Optimizer) -> Built:
        shard_math.watch(self.session, type(optimizer), self.mixed)
        self.ledger.drop_unheld()
        built = Built(weakref.ref(optimizer), construction_of(optimizer), type(optimizer).__name__)
        self.ledger.optimizers.append(built)
        self._note_temporary(built)
        return built

    def mixed(self, built: Built) -> None:
        """Its first step has shown that it does not work on shards."""
        for model, shardings in self._models(built):
            if (top := model.module()) is not None:
                view = RuntimeOptimizer(self.ledger, built, tuple(shardings), model.label)
                handle = RuntimeModel(self.ledger, top, optimizer=built)
                self.session.dispatch(OptimizerSettled(when=built.when, optimizer=view, model=handle))

    def _note_temporary(self, built: Built) -> None:
        gathered = {
            id(copy): sharding
            for sharding, param in self.ledger.managed(self.ledger.shardings).values()
            for copy in param.copies
        }
        for parameter in built.held():
            if sharding := gathered.get(id(parameter)):
                who = sharding.gathered_at or built.when
                built.temporary.append((id(parameter), sharding, who))

    def before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if adapter.only_makes_states(sys._getframe()):
            return
        trains_here()
        built = self.ledger.built(optimizer) or self._record(optimizer)
        fsdp1_methods.settle(self.session)
        closure = argument(args, kwargs, 1, "closure")
        when = here()
        for model, shardings in self._models(built):
            top = model.module()
            if top is None:
                continue
            closing.settle(self.session, model)
            handle = RuntimeModel(self.ledger, top, optimizer=built)
            view = RuntimeOptimizer(self.ledger, built, tuple(shardings), model.label)
            if (id(built), id(model)) not in self.settled:
                self.settled.add((id(built), id(model)))
                self.session.dispatch(OptimizerSettled(when=built.when, optimizer=view, model=handle))
                self.session.dispatch(WeightsTrained(when=built.when, optimizer=view, model=handle))
            if closure is not None:
                continue  # its forward and backward are yet to come
            self.session.dispatch(GradientsUsed(when=when, model=handle))
            clipping.settle(self.session, when, top, shardings)
            facts.outside_gradients(self.session, top, built)
            held = {id(parameter) for parameter in built.held()}
            for sharding in shardings:
                trains = any(id(param.sharded) in held for param in sharding.params())
                gathered = sharding.unsharded_at or sharding.gathered_at
                stays = any(each.uses_a_copy for each in sharding.groups()) and unfinished(sharding) is None
                if trains and gathered and stays:
                    by = UNSHARD if sharding.unsharded_at else sharding.gathered_by
                    sharding.outlived = Leftover(sharding.label, gathered, when, by)

    def _models(self, built: Built) -> list[tuple[Trained, list[Sharding]]]:
        """The models that the optimizer holds, or held, parameters of, with all their shardings."""
        managed = self.ledger.managed(self.ledger.shardings)
        touched: dict[int, Sharding] = {}
        for parameter in built.held():
            if id(parameter) in managed:
                sharding = managed[id(parameter)][0]
            elif original := self.ledger.original(parameter):
                sharding = original.sharding
            else:
                continue
            touched[id(sharding)] = sharding
        found: dict[int, Trained] = {}
        for sharding in touched.values():
            for module in sharding.live_modules():
                if model := self.ledger.model_of(module):
                    found[id(model)] = model
        return [
            (model, self.ledger.inside(top)) for model in found.values() if (top := model.module()) is not None
        ]  # fmt: skip

    def after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        built = self.ledger.built(optimizer)
        if built is not None and not adapter.only_makes_states(sys._getframe()):
            built.steps += 1
            built.stepped = here()
            self.session.count_step(built.steps)
            if closing.long_enough(self.session, built.steps):
                for model, _ in self._models(built):
                    closing.look_at_training(self.session, model)
