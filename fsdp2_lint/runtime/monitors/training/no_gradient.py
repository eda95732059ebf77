"""Parameters that an optimizer holds, and that have had no gradient in any of its steps."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ....vocab.facts import Fact
from ....vocab.finding import Site
from ... import adapter
from ...agreement.digests import sample
from ...ledger import Built, Sharding
from ...patches import argument
from ...session import Session
from ..forward import closing

_KIND = "no-gradient"
_CONTAINERS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)  # nobody calls them
Starved = tuple[Sharding, adapter.Param]


@dataclass(eq=False, slots=True)
class _Held:
    """What one optimizer holds: identities of FSDP2's own objects, and what was in each without a gradient at first."""

    had: set[int] = field(default_factory=set)
    began: dict[int, str] = field(default_factory=dict)
    steps: int = 0
    told: bool = False


def install(session: Session) -> None:
    if not session.compares(_KIND):
        return
    watch = _Watch(session)
    session.hot.keep(register_optimizer_step_pre_hook(session.quietly(watch.before_step)))
    session.hot.keep(register_optimizer_step_post_hook(session.quietly(watch.after_step)))


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.held: weakref.WeakKeyDictionary[Optimizer, _Held] = weakref.WeakKeyDictionary()
        self.asked: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self.entered: weakref.WeakSet[nn.Module] = weakref.WeakSet()

    def before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if adapter.only_makes_states(sys._getframe()) or argument(args, kwargs, 1, "closure") is not None:
            return
        if adapter.is_captured():
            return
        held = self.held.setdefault(optimizer, _Held())
        held.steps += 1
        for parameter, (_, param) in self._managed(optimizer):
            if parameter.grad is not None or not parameter.requires_grad:
                held.had.add(id(param.raw))
            elif id(param.raw) not in held.began:
                held.began[id(param.raw)] = sample(parameter)
        if held.steps == 1:
            for _, param in self._starved(optimizer, held):
                self._ask(param)

    def _managed(self, optimizer: Optimizer) -> Iterator[tuple[torch.Tensor, Starved]]:
        managed = self.session.ledger.managed(self.session.ledger.shardings)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) in managed:
                    yield parameter, managed[id(parameter)]

    def _starved(self, optimizer: Optimizer, held: _Held) -> list[Starved]:
        """Those that nothing has written either: some optimizers have gradients of their own."""
        return [
            found
            for parameter, found in self._managed(optimizer)
            if (key := id(found[1].raw)) in held.began and key not in held.had and held.began[key] == sample(parameter)
        ]

    def _ask(self, param: adapter.Param) -> None:
        """From here on its modules say when they are called. A hook would make torch.compile trace them once more."""
        for _, module in () if self.session.compiles else self._way_to(param):
            if module not in self.asked:
                self.asked.add(module)
                hook = self.session.quietly(self._called)
                self.session.hot.keep(module.register_forward_pre_hook(hook, with_kwargs=True))

    def _called(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
        if not tensors or any(each.numel() for each in tensors):  # experts are called without any token, too
            self.entered.add(module)

    def _way_to(self, param: adapter.Param) -> list[tuple[bool, nn.Module]]:
        """The modules around it that are called, outermost first. True: it is one of several in a container."""
        model = self.session.ledger.model_of(param.module)
        top = model.module() if model is not None else None
        if top is None:
            return []
        modules = dict(top.named_modules(remove_duplicate=False))
        path = next((path for path, module in modules.items() if module is param.module), "")
        parts = path.split(".") if path else []
        chain = [modules[".".join(parts[:depth])] for depth in range(1, len(parts) + 1)]
        around: list[tuple[bool, nn.Module]] = []
        for outer, module in zip([top, *chain], chain):
            if not isinstance(module, _CONTAINERS):
                around.append((isinstance(outer, _CONTAINERS), module))
        return around or [(False, top)]

    def after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        built, held = self.session.ledger.built(optimizer), self.held.get(optimizer)
        if built is None or held is None or held.told or held.steps < 2 or self.session.compiles:
            return
        if adapter.is_captured():
            return
        if closing.long_enough(self.session, held.steps):
            held.told = True
            self._tell(built, held, self._starved(optimizer, held))

    def _tell(self, built: Built, held: _Held, starved: list[Starved]) -> None:
        uncalled = {id(param.raw): self._uncalled(param) for _, param in starved}
        lacks_input = any(_is_tower(part) for each in uncalled.values() if each for part in each)
        values: dict[tuple[int, ...], dict[str, str]] = {}
        places: dict[str, Site] = {}
        model = ""
        for sharding, param in starved:
            parts = uncalled[id(param.raw)]
            group = next((each for each in sharding.groups() if any(one.raw is param.raw for one in each.params)), None)
            if group is None or parts is None or parts and (lacks_input or isinstance(parts[0], nn.Embedding)):
                continue
            known = self.session.ledger.model_of(param.module)
            model = known.label if known is not None else sharding.label
            values.setdefault(adapter.ranks_of(group.mesh), {})[param.fqn] = "uncalled" if parts else "ran"
            places[param.fqn] = sharding.when.at
        for ranks, said in values.items():
            traits: Mapping[str, str] = {"model": model, "steps": str(held.steps)}
            key = f"{model}, {built.label} at {built.when.at}"
            self.session.state(Fact(_KIND, key, built.when, ranks, said, places, traits))

    def _uncalled(self, param: adapter.Param) -> list[nn.Module] | None:
        """The modules around it that nothing called, outermost first; None where they may be for other batches."""
        way = self._way_to(param)
        left = [each for each in way if each[1] not in self.entered]
        if not left or left[-1] is not way[-1]:
            return []
        if left[0][0]:
            return None  # one of several, such as an expert or the head of a task
        return [module for _, module in left]


def _is_tower(module: nn.Module) -> bool:
    """Has it parts with parameters of their own? Then it may be for inputs that these batches did not have."""
    return any(True for child in module.children() for _ in child.parameters())
