"""``fully_shard``, and what is done to a model around it."""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from ....vocab.events.sharding import Sharded
from ....vocab.finding import Moment
from ... import adapter
from ...agreement.digests import sample
from ...ledger import Attached, Ledger, Original, Sharding, dotted, label_of
from ...notes import Emptied
from ...patches import argument
from ...session import Session
from ...sites import here, trains_here
from ..initialisation.device_placement import arriving
from ..shared.units import RuntimeUnit


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("sharding", before=watch.shard)
    session.watch_fsdp2("sharded", after=watch.sharded)
    session.watch((MixedPrecisionPolicy, "__init__"), after=watch.policy_made)
    session.watch((nn.Module, "to_empty"), after=watch.emptied)
    session.watch((FSDPModule, "unshard"), before=watch.unshard)
    session.watch((FSDPModule, "reshard"), before=watch.reshard)
    for name, watched in (
        ("set_reshard_after_forward", watch.forward_switched),
        ("set_reshard_after_backward", watch.backward_switched),
    ):
        if hasattr(FSDPModule, name):
            session.watch((FSDPModule, name), before=watched)
    for owner, name in adapter.exchanges():
        session.hot.replace(owner, name, _sending(session, getattr(owner, name)))
    registered = session.quietly(watch.registered)
    session.hot.keep(register_module_parameter_registration_hook(registered))
    session.hot.keep(register_module_module_registration_hook(registered))


def _sending(session: Session, original: Any) -> Any:
    """Compilers trace it: there is no more in it than has to be."""

    @functools.wraps(original)
    def send(*args: Any, **kwargs: Any) -> Any:
        if session.hot.live and not adapter.is_traced():
            session.ledger.sends_tokens = True
        return original(*args, **kwargs)

    return send


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.ledger = session.ledger

    def shard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before ``fully_shard`` replaces parameters."""
        trains_here()
        self.ledger.drop_unheld()
        state = args[0]
        modules = argument(args, kwargs, 1, "modules")
        call = adapter.call_of_fully_shard(sys._getframe())
        ignored = list(call.get("ignored_params") or ())
        sharding = Sharding(
            when=here(),
            label=label_of(*modules),
            modules=tuple(weakref.ref(module) for module in modules),
            state=weakref.ref(state),
            outer=next((outer for module in modules if (outer := self._sharded_with(module))), None),
            ignored=frozenset(id(each) for each in ignored if isinstance(each, torch.Tensor)),
            ignored_names=tuple(each for each in ignored if isinstance(each, str)),
        )
        sharding.arrived = arriving(modules)
        self._note_parameters(sharding, modules, {id(each) for each in ignored})
        self.ledger.shardings.append(sharding)
        self.ledger.changes += 1
        for module in modules:
            self.ledger.by_module.setdefault(module, sharding)
            for part in module.modules():
                if part is not module:
                    self.ledger.below.setdefault(part, sharding)
        if len(self.ledger.shardings) == 1:
            self.session.file.write("sharded")
        unit = RuntimeUnit(self.ledger, sharding)
        self.session.dispatch(Sharded(when=sharding.when, unit=unit))

    def _sharded_with(self, module: nn.Module) -> Moment | None:
        """The earlier call on a module above this one, if that took any of its parameters."""
        outer = self.ledger.below.get(module)
        if outer is None:
            return None
        parts = {id(part) for part in module.modules()}
        taken = any(id(param.module) in parts for param in outer.params())
        return outer.when if taken else None

    def _note_parameters(self, sharding: Sharding, modules: tuple[nn.Module, ...], ignored: set[int]) -> None:
        compared = self.session.compares("starting-weights")
        managed = self.ledger.managed(each for module in modules for each in self.ledger.inside(module))
        for module in modules:
            for path, part in module.named_modules():
                for name, parameter in adapter.own_parameters(part).items():
                    if parameter is None or id(parameter) in managed or id(parameter) in ignored:
                        continue
                    earlier = self.ledger.original(parameter)
                    if earlier is not None and earlier.was_replaced:
                        sharding.tied.append((dotted(path, name), earlier.sharding.when))
                    self.ledger.originals[id(parameter)] = Original(parameter, weakref.ref(part), name, sharding)
                    if compared and parameter.device.type != "meta" and not isinstance(parameter, adapter.DTensor):
                        sharding.starting[id(part), name] = sample(parameter)

    def sharded(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The parameters of a group are replaced: from here on the writes to the shards count."""
        group = adapter.Group(args[0])
        sharding = self.ledger.of_group(group)
        if sharding is not None and self.session.compares("starting-weights"):
            sharding.written.update(
                (id(param.raw), (adapter.version(param.sharded), sample(param.sharded)))
                for param in group.params
                if param.sharded.device.type != "meta"
            )

    def policy_made(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.ledger.policies.append((weakref.ref(args[0]), here()))

    def emptied(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        whole = bool(kwargs.get("recurse", True))
        own = self.ledger.of_module(args[0])
        for sharding in self.ledger.inside(args[0]) if whole else [own] if own is not None else []:
            sharding.written.clear()  # the counts begin anew
        tensors = []
        for path, part in args[0].named_modules() if whole else [("", args[0])]:
            for space, is_buffer in ((adapter.own_parameters(part), False), (adapter.own_buffers(part), True)):
                for name, tensor in space.items():
                    if tensor is None or tensor.device.type == "meta" or not adapter.local(tensor).numel():
                        continue
                    fqn = dotted(path, name)
                    tensors.append(
                        Emptied(
                            weakref.ref(part), name, fqn, is_buffer, id(tensor), adapter.version(tensor), sample(tensor)
                        )
                    )
        self.ledger.emptied.append((here(), tensors))

    def unshard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if sharding := self.ledger.of_module(args[0]):
            sharding.unsharded_by_user = True
            if not all(group.uses_a_copy for group in sharding.groups()):
                sharding.unsharded_at = here()

    def reshard(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if sharding := self.ledger.of_module(args[0]):
            sharding.unsharded_by_user = False
            sharding.outlived = None
            if not any(group.has_just_gathered for group in sharding.groups()):
                sharding.unsharded_at = None  # else what is under way is used by the next forward

    def switched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """From here on the plan may change between a forward and its end."""
        for sharding in concerned(self.ledger, args, kwargs):
            sharding.switched = True

    def backward_switched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.switched(args, kwargs)
        kept = None if argument(args, kwargs, 1, "reshard_after_backward") else here()
        for sharding in concerned(self.ledger, args, kwargs):
            sharding.kept_after_backward = kept

    def forward_switched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.switched(args, kwargs)
        kept = None if argument(args, kwargs, 1, "reshard_after_forward") else here()
        for sharding in concerned(self.ledger, args, kwargs):
            sharding.kept_at, sharding.given_back = kept or sharding.kept_at, sharding.given_back or kept is None

    def registered(self, owner: nn.Module, name: str, value: Any) -> None:
        """A module or parameter becomes part of another module."""
        self.ledger.changes += isinstance(value, nn.Module)
        above = self.ledger.by_module.get(owner) or self.ledger.below.get(owner)
        if above is not None and value is not None:
            held = weakref.ref(value) if isinstance(value, nn.Module) else value
            self.ledger.attached.append(Attached(weakref.ref(owner), name, held, here(), above))


def concerned(ledger: Ledger, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Sharding]:
    """By a switch of a module: its own sharding, and those below unless it is told otherwise."""
    alone = argument(args, kwargs, 2, "recurse") is False
    parts = [args[0]] if alone else args[0].modules()
    return [sharding for part in parts if (sharding := ledger.of_module(part))]
