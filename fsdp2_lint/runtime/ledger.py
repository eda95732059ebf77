"""What was seen of the job so far.

Modules, states and optimizers are held weakly: watching must not keep memory alive. Tensors are
not, since a tensor with a weak reference to it cannot be swapped for another one, which
``to_empty`` does with DTensors: they are known by identity, or held where somebody else holds them.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ..vocab.finding import Moment
from ..vocab.live import FORWARD, Leftover
from ..vocab.rule import ModelKey
from . import adapter
from .notes import Asked, Emptied, Gradients


@dataclass(slots=True)
class CudaUse:
    """How CUDA was used, as far as hooks saw it."""

    first: Moment | None = None
    selected: Moment | None = None
    sharded: Moment | None = None
    index: int | None = None  # of the device that the model was sharded on


@dataclass(eq=False, slots=True)
class Sharding:
    """One call of ``fully_shard``."""

    when: Moment
    label: str
    modules: tuple[weakref.ref[nn.Module], ...]
    state: weakref.ref[Any]
    outer: Moment | None = None
    tied: list[tuple[str, Moment]] = field(default_factory=list)
    ignored: frozenset[int] = frozenset()  # identities
    ignored_names: tuple[str, ...] = ()
    # The digest of each shard that lies on further ranks, at the first forward, by the identity of FSDP2's own object.
    begun: dict[int, str] = field(default_factory=dict)
    planned: dict[int, tuple[tuple[int, ...], tuple[str, ...]]] = field(default_factory=dict)
    # The digest of each whole parameter before it was cut, by the identity of its module and its name in it.
    starting: dict[tuple[int, str], str] = field(default_factory=dict)
    # How often each shard had been written when the call ended, and its digest, by the identity of FSDP2's own object.
    written: dict[int, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    # Of the parameters that came in whole: bytes on a GPU, bytes elsewhere, and what the GPU held in all just before.
    arrived: tuple[int, int, int] = (0, 0, 0)
    hooks: tuple[str, ...] = ()  # kinds of gradient hooks that its parameters had before
    # What had been set on each parameter, by the identity of its module and its name in it; only plain values are kept.
    attributes: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    gathered_at: Moment | None = None
    gathered_by: str = FORWARD  # what was called there
    unsharded_by_user: bool = False
    unsharded_at: Moment | None = None  # an unshard() whose all-gather is under way
    switched: bool = False  # did the user change when it is resharded?
    kept_at: Moment | None = None  # where the user said that it stays gathered after forward
    kept_after_backward: Moment | None = None  # and where after backward, while that is so
    given_back: bool = False  # did the user ever say that it does not?
    gradients: Gradients = field(default_factory=Gradients)
    ran_alone: Moment | None = None  # its first forward, if that was no part of a forward of a model around it
    outlived: Leftover | None = None  # it was gathered at the last step

    def live_modules(self) -> list[nn.Module]:
        return [module for ref in self.modules if (module := ref()) is not None]

    def groups(self) -> list[adapter.Group]:
        state = self.state()
        return [] if state is None else adapter.groups(state)

    def params(self) -> Iterator[adapter.Param]:
        for group in self.groups():
            yield from group.params


@dataclass(eq=False, slots=True)
class Original:
    """A parameter as it was before a sharding, and where it was registered."""

    parameter: torch.Tensor
    module: weakref.ref[nn.Module]
    name: str
    sharding: Sharding

    @property
    def was_replaced(self) -> bool:
        module = self.module()
        return module is None or adapter.own_parameters(module).get(self.name) is not self.parameter


@dataclass(eq=False, slots=True)
class Built:
    """An optimizer. ``temporary`` are gathered parameters that it took: (identity, its sharding, who gathered)."""

    optimizer: weakref.ref[Optimizer]
    when: Moment
    label: str
    temporary: list[tuple[int, Sharding, Moment]] = field(default_factory=list)
    added: dict[int, Moment] = field(default_factory=dict)
    steps: int = 0
    followed: bool = False  # through a step, for what it does with shards
    mixes: tuple[Sharding, str, str] | None = None  # into which parameter, and by which operation
    stepped: Moment | None = None  # since the last backward

    def took(self, parameter: torch.Tensor) -> Moment:
        """Where it got a parameter: where it was built, or where a group was added later."""
        return self.added.get(id(parameter), self.when)

    def held(self) -> Iterator[torch.Tensor]:
        optimizer = self.optimizer()
        for group in optimizer.param_groups if optimizer is not None else ():
            yield from group["params"]


@dataclass(eq=False, slots=True)
class Trained:
    """A model: the outermost module whose call led to the first forward of a root."""

    module: weakref.ref[nn.Module]
    label: str
    key: ModelKey
    trained: bool = False
    settled: bool = False
    seen: bool = False  # trained for as many steps as are watched


@dataclass(frozen=True, slots=True)
class Attached:
    """A module or parameter that was registered below a sharded module."""

    owner: weakref.ref[nn.Module]
    name: str
    value: weakref.ref[nn.Module] | torch.Tensor
    when: Moment
    sharding: Sharding

    def live_value(self) -> nn.Module | torch.Tensor | None:
        return self.value if isinstance(self.value, torch.Tensor) else self.value()


@dataclass(eq=False, slots=True)
class Ledger:
    shardings: list[Sharding] = field(default_factory=list)
    models: list[Trained] = field(default_factory=list)
    optimizers: list[Built] = field(default_factory=list)
    attached: list[Attached] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)  # since the last step
    emptied: list[tuple[Moment, list[Emptied]]] = field(default_factory=list)
    originals: dict[int, Original] = field(default_factory=dict)
    policies: list[tuple[weakref.ref[Any], Moment]] = field(default_factory=list)  # and where they were made
    # Modules that load_state_dict was called on.
    loaded: weakref.WeakSet[nn.Module] = field(default_factory=weakref.WeakSet)
    backward_at: Moment | None = None  # the last one
    mesh_uses: set[str] = field(default_factory=set)  # dimensions of meshes whose groups the program asked for
    routing: set[tuple[int, str]] = field(default_factory=set)  # buffers that choose experts, by module and name
    sends_tokens: bool = False  # have ranks given each other parts of tensors, as experts need it?
    # What stages of pipelines run, and how many ranks run each pipeline.
    stages: weakref.WeakKeyDictionary[nn.Module, int] = field(default_factory=weakref.WeakKeyDictionary)
    changes: int = 0  # of what is sharded, and of what is part of what
    _inside: weakref.WeakKeyDictionary[nn.Module, tuple[int, list[Sharding]]] = field(
        default_factory=weakref.WeakKeyDictionary
    )
    tops: weakref.WeakKeyDictionary[nn.Module, Trained] = field(default_factory=weakref.WeakKeyDictionary)
    # Every module below a sharded one, and the first call that sharded something above it.
    below: weakref.WeakKeyDictionary[nn.Module, Sharding] = field(default_factory=weakref.WeakKeyDictionary)
    by_module: weakref.WeakKeyDictionary[nn.Module, Sharding] = field(default_factory=weakref.WeakKeyDictionary)

    def original(self, parameter: torch.Tensor) -> Original | None:
        found = self.originals.get(id(parameter))
        return found if found is not None and found.parameter is parameter else None

    def drop_unheld(self) -> None:
        """Forget the originals that nobody else holds any more: they cannot come back."""
        for key in list(self.originals):
            original = self.originals[key]
            # Two references: the field, and the one that asking takes.
            if original.was_replaced and sys.getrefcount(original.parameter) <= 2:
                del self.originals[key]

    def of_module(self, module: nn.Module) -> Sharding | None:
        """The sharding of this very module."""
        return self.by_module.get(module)

    def inside(self, module: nn.Module) -> list[Sharding]:
        """The shardings of the module and of its parts, in the order of the calls."""
        known = self._inside.get(module)
        if known is None or known[0] != self.changes:
            parts = {id(part) for part in module.modules()}
            found = [each for each in self.shardings if any(id(one) in parts for one in each.live_modules())]
            known = self._inside[module] = (self.changes, found)
        return known[1]

    def stage_of(self, sharding: Sharding) -> int:
        """How many ranks run the pipeline that it is a part of; 1 where it is of none."""
        return max((ranks for module, ranks in self.stages.items() if sharding in self.inside(module)), default=1)

    def of_state(self, state: Any) -> Sharding | None:
        return next((each for each in self.shardings if each.state() is state), None)

    def of_group(self, group: adapter.Group) -> Sharding | None:
        for module in getattr(group.raw, "modules", ()):
            if (found := self.by_module.get(module)) is not None:
                return found
        return None

    def top_of_group(self, group: adapter.Group) -> nn.Module | None:
        """The model that a group is part of, where it ran."""
        own = self.of_group(group)
        models = (self.model_of(each) for each in own.live_modules()) if own is not None else ()
        model = next(filter(None, models), None)
        return model.module() if model is not None else None

    def made(self, policy: Any) -> Moment | None:
        """Where a policy object was made."""
        return next((when for known, when in self.policies if known() is policy), None)

    def built(self, optimizer: Optimizer) -> Built | None:
        return next((each for each in self.optimizers if each.optimizer() is optimizer), None)

    def model_of(self, module: nn.Module) -> Trained | None:
        """The model that the module is or is a part of."""
        return self.tops.get(module)

    def key_of(self, module: nn.Module | None, label: str, first: Moment) -> ModelKey:
        """The model that the module belongs to; else what is called ``label``, and was sharded ``first``."""
        model = self.model_of(module) if module is not None else None
        return model.key if model is not None else ModelKey(label, first.at)

    def add_model(self, top: nn.Module, label: str) -> None:
        """A model that runs. What it holds belongs to it, also where a part of it ran alone before."""
        if (known := self.tops.get(top)) is not None and known.module() is top:
            return
        first = self.inside(top)[0].when.at
        model = Trained(weakref.ref(top), label, ModelKey(label, first))
        self.models = [each for each in self.models if all(part is not each.module() for part in top.modules())]
        self.models.append(model)
        for part in top.modules():
            self.tops[part] = model

    def whole_models(self) -> list[nn.Module]:
        """Every model: the outermost modules that ran, and of what never ran the outermost that were sharded."""
        ran = [top for model in self.models if (top := model.module()) is not None]
        rest = (module for sharding in self.shardings for module in sharding.live_modules())
        alone = [module for module in rest if module not in self.below and self.model_of(module) is None]
        return [*ran, *alone]

    def managed(self, shardings: Iterable[Sharding]) -> dict[int, tuple[Sharding, adapter.Param]]:
        """Parameters of these shardings, by the identity of the shards and of the copies made of them."""
        found = {}
        for sharding in shardings:
            for param in sharding.params():
                found[id(param.sharded)] = (sharding, param)
                found.update((id(copy), (sharding, param)) for copy in param.copies)
        return found

    def forget(self) -> None:
        """Let go of every tensor."""
        self.originals.clear()
        self.attached.clear()

    def adopt(self, model: nn.Module, when: Moment) -> None:
        """Take note of what was sharded below a module while nobody watched."""
        for state in adapter.states_below(model):
            modules = adapter.modules_of(state)
            if any(module in self.by_module for module in modules):
                continue
            sharding = Sharding(when, label_of(*modules), tuple(map(weakref.ref, modules)), weakref.ref(state))
            self.shardings.append(sharding)
            self.changes += 1
            for module in modules:
                self.by_module[module] = sharding
                self.below.update((part, sharding) for part in module.modules() if part is not module)

    def adopt_strangers(self, model: nn.Module, built: Built) -> None:
        """Plain parameters of an optimizer that have the shape of managed ones which it does not hold.

        For a model that was sharded before anybody looked, these are what sharding replaced.
        """
        managed = self.managed(self.shardings)
        held = {id(parameter): parameter for parameter in built.held()}
        own = {id(parameter) for parameter in model.parameters()}
        missing = {
            (param.shape, param.sharded.dtype): (sharding, param)
            for key, (sharding, param) in managed.items()
            if key not in held
        }
        for key, parameter in held.items():
            if key in managed or key in own or isinstance(parameter, adapter.DTensor):
                continue
            if found := missing.get((tuple(parameter.shape), parameter.dtype)):
                sharding, param = found
                self.originals[key] = Original(parameter, weakref.ref(param.module), param.name, sharding)


def label_of(*modules: nn.Module) -> str:
    """What people call them: the class that they wrote."""
    if len(modules) != 1:
        return f"{len(modules)} modules"
    return adapter.original_class(adapter.unwrapped(modules[0])).__name__


def dotted(path: str, name: str) -> str:
    """The name of what is registered as ``name`` in the module at ``path``."""
    return f"{path}.{name}" if path else name
