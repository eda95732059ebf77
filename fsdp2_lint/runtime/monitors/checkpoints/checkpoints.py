"""What is saved and loaded. These stay to the end of the job: checkpoints come late."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as Fsdp1
from torch.optim import Optimizer

from ....vocab.events.checkpoints import (
    CheckpointLoaded,
    CheckpointWritten,
    Fsdp1ContextUsed,
    KeysWritten,
    Loaded,
    Saved,
    StateMatched,
)
from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter
from ...agreement.digests import sample
from ...facts import short
from ...ledger import Built
from ...patches import argument
from ...session import Session
from ...sites import called_by_torch, here
from ..shared.models import RuntimeModel
from .matching import RuntimeMatching, RuntimePlanned
from .payloads import RuntimeKeys, RuntimePayload, RuntimeWritten, numbered, path_of, tensors_in

FSDP1_METHODS = (
    "summon_full_params",
    "state_dict_type",
    "set_state_dict_type",
    "optim_state_dict",
    "optim_state_dict_to_load",
    "full_optim_state_dict",
    "sharded_optim_state_dict",
)


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch([(torch, "save"), (torch.serialization, "save")], rare=True, before=watch.save)
    session.watch((nn.Module, "load_state_dict"), rare=True, before=watch.load)
    loader = sys.modules.get("torch.distributed.checkpoint.state_dict_loader", dcp)
    loads = [(dcp, "load"), (loader, "load")]
    session.watch(loads, rare=True, before=watch.load_checkpoint, after=watch.loaded_checkpoint, ended=watch.ended)
    session.watch((Optimizer, "state_dict"), rare=True, after=watch.optimizer_read)
    saver = sys.modules.get("torch.distributed.checkpoint.state_dict_saver", dcp)
    for name in ("save", "async_save"):
        if hasattr(dcp, name):
            saves = [(dcp, name), (saver, name)]
            session.watch(saves, rare=True, before=watch.save_checkpoint, ended=watch.ended)
    for name in FSDP1_METHODS:
        if hasattr(Fsdp1, name):
            session.watch((Fsdp1, name), rare=True, before=watch.fsdp1(name))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.loading: Moment | None = None  # a load of DCP that runs
        self.saving: Moment | None = None  # likewise a save

    def save(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        value, path = argument(args, kwargs, 0, "obj"), path_of(argument(args, kwargs, 1, "f"))
        own = not called_by_torch(sys._getframe())  # DCP writes its own pieces with it
        payload = RuntimePayload(value, path, ledger=self.session.ledger if own else None)
        when = here()
        self.session.dispatch(Saved(when=when, payload=payload, by="torch.save"))
        if own:
            self.session.dispatch(KeysWritten(when=when, keys=RuntimeKeys(value, when), by="torch.save"))

    def save_checkpoint(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not called_by_torch(sys._getframe()):
            value, when = argument(args, kwargs, 0, "state_dict"), here()
            self.session.dispatch(KeysWritten(when=when, keys=RuntimeKeys(value, when), by="dcp.save"))
            self._written(value, when)
            self.saving = when

    def _written(self, value: object, when: Moment) -> None:
        written = RuntimeWritten(value, when, compared=numbers_stated(self.session, value, when))
        self.session.dispatch(CheckpointWritten(when=when, written=written, by="dcp.save"))

    def load(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module, value = args[0], argument(args, kwargs, 1, "state_dict")
        self.session.ledger.loaded.update(module.modules())
        when = here()
        payload = RuntimePayload(value, read_at=when, target=module)
        model = RuntimeModel(self.session.ledger, module)
        self.session.dispatch(Loaded(when=when, model=model, payload=payload))
        if model.touched() and not called_by_torch(sys._getframe()):
            strict = argument(args, kwargs, 2, "strict") is not False
            loading = RuntimeMatching("load_state_dict", when, value, module, strict)
            self.session.dispatch(StateMatched(when=when, loading=loading))

    def load_checkpoint(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        value = argument(args, kwargs, 0, "state_dict")
        planned = kwargs.get("planner") is not None
        self.loading = None if planned else here()
        self.session.dispatch(CheckpointLoaded(when=here(), payload=RuntimePayload(value, planned=planned)))

    def loaded_checkpoint(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if (planner := kwargs.get("planner")) is not None:
            self.session.dispatch(StateMatched(when=here(), loading=RuntimePlanned(planner, here())))

    def ended(self) -> None:
        """A save or a load of DCP is over, with an error or without: what is asked for now is not for it."""
        self.loading = self.saving = None

    def optimizer_read(self, state: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A Stateful object is asked for what the load shall fill."""
        if self.saving is not None and not called_by_torch(sys._getframe()):  # as the helpers with names do
            self._written({"optimizer": state}, self.saving)
        if self.loading is not None:
            self.session.dispatch(CheckpointLoaded(when=self.loading, payload=RuntimePayload({"optimizer": state})))

    def fsdp1(self, name: str) -> Any:
        def used(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            module = argument(args, kwargs, 0, "module") or kwargs.get("model")
            if isinstance(module, nn.Module):
                model = RuntimeModel(self.session.ledger, module)
                self.session.dispatch(Fsdp1ContextUsed(when=here(), name=name, model=model))

        return used


# -- which parameters an optimizer's own state dict numbers, for ranks that do not share one model
def numbers_stated(session: Session, value: Any, when: Moment) -> bool:
    """Is it said which they are? Ranks of one mesh shard the same ones; others ought to have copies of them."""
    if not session.compares("optimizer-numbers"):
        return False
    stated = False
    everyone = tuple(range(adapter.all_ranks()))
    written = {id(tensor) for _, state in numbered(value) for tensor in tensors_in(state)}
    for built in session.ledger.optimizers if written else ():
        held = [each for each in built.held() if isinstance(each, adapter.DTensor)]
        meshes = {adapter.ranks_of(each.device_mesh) for each in held}
        if len(meshes) != 1 or not _is_in(built, written):
            continue
        ranks = meshes.pop()
        if len(ranks) < len(everyone) and adapter.own_rank() in ranks:
            key = f"{built.label} at {when.at}, shard {ranks.index(adapter.own_rank())} of {len(ranks)}"
            values = {"parameters": _told(session, held)}
            session.state(Fact("optimizer-numbers", key, when, everyone, values))
            stated = True
    return stated


def _is_in(built: Built, written: set[int]) -> bool:
    optimizer = built.optimizer()
    return optimizer is not None and any(id(each) in written for each in tensors_in(list(optimizer.state.values())))


def _told(session: Session, held: Sequence[torch.Tensor]) -> str:
    """The names in their order, with the values of this rank: copies are equal, and stages are not."""
    managed = session.ledger.managed(session.ledger.shardings)
    names = (managed[id(each)][1].fqn if id(each) in managed else "" for each in held)
    return short(" ".join(f"{name} {list(each.shape)} {sample(each)}" for name, each in zip(names, held)))
