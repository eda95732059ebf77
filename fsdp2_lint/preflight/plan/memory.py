"""The memory of a rank over some training steps, watched while they run on fake or on real tensors.

It is what the tensors take that the job would have on its GPU: no rounding and no gaps of the allocator, no NCCL.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ...runtime import adapter
from ...runtime.patches import Patches
from .shape import Held, MemoryProfile, Sample
from .storages import HOST, Storages

EVERY = 50  # operations, at most, to a sample


class Memory:
    """From :meth:`begin` at a model's first forward to :meth:`end`, with :meth:`end_of_step` after each step."""

    def __init__(self, looking: Callable[[], bool] = lambda: False) -> None:
        """``looking``: does this tool just look at something itself, with tensors that no job has?"""
        self._looking = looking
        self._storages = Storages()
        self._patches = Patches()
        self._mode = adapter.Allocations(self._given, self._made)
        self._names: dict[int, str] = {}  # of sharded modules
        # FSDP2's own objects, and the names of their modules.
        self._groups: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._hooked: set[int] = set()  # gathered parameters
        self._samples: list[Sample] = []
        self._step, self._phase, self._where = 1, "before", ""
        self._operations = 0
        self._modules: list[str | None] = []  # that run, from the outermost; with a name those that are sharded
        self._purposes: list[str] = []  # of what FSDP2 does just now
        self._aside = 0  # for shapes only, or for objects that ranks send each other
        self._optimizer_runs = False

    def begin(self, model: nn.Module, optimizers: Iterable[Optimizer] = ()) -> None:
        """Count what the model and its optimizers hold already, and all that comes."""
        self._names.update((id(each), name or "(root)") for name, each in model.named_modules())
        for state in adapter.states_below(model):
            name = ", ".join(self._names.get(id(each), "?") for each in adapter.modules_of(state))
            for group in adapter.groups(state):
                self._groups[group.raw] = name
                self._settle(group)
        for buffer in model.buffers():
            self._storages.call(adapter.local(buffer), "buffers")
        for parameter in model.parameters():  # those in no group
            self._storages.see(adapter.local(parameter), "parameters")
        for optimizer in optimizers:
            self._call_states(optimizer)
        if not self._patches.live:
            self._install()
            self._storages.lower()

    def end_of_step(self, step: int) -> None:
        """A training step has ended, the ``step``-th from 1."""
        self._sample()
        self._step, self._phase, self._where = step + 1, "before", ""
        self._optimizer_runs = False  # what else looks at the end of its step is no part of it

    def end(self) -> None:
        """Count no more."""
        if self._patches.live:
            self._sample()
            self._patches.remove()
            self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def profile(self) -> MemoryProfile:
        samples = tuple(self._samples)
        # Of steps that take as much the last one: it has the optimizer's states under their own name.
        nothing = Sample(self._step, self._phase, "", Held())
        peak = max(reversed(samples), key=lambda each: each.held.total, default=nothing)
        return MemoryProfile(samples, peak, self._step - 1, self._storages.most_on_host)

    def _install(self) -> None:
        watch = self._patches.watch
        watch(adapter.STORAGE, after=self._resized)
        for place in (*adapter.propagating(), *adapter.exchanging_objects()):
            watch(place, before=self._turns_aside, ended=self._is_back)
        for place in adapter.gathering():
            watch(place, before=self._gathers, after=self._gathered, ended=self._done)
        if reducing := adapter.place("reduce"):
            watch(reducing, before=self._reduces, ended=self._done)
        if going_back := adapter.place("pre_backward"):
            watch(going_back, before=self._goes_back)
        if gone_back := adapter.place("post_backward"):
            watch(gone_back, after=self._reduced)
        for handle in (
            register_module_forward_pre_hook(self._enters),
            register_module_forward_hook(self._leaves, always_call=True),
            register_optimizer_step_pre_hook(self._steps),
            register_optimizer_step_post_hook(self._stepped),
        ):
            self._patches.keep(handle)
        self._patches.install()
        self._mode.__enter__()  # type: ignore[no-untyped-call]

    def _given(self, tensor: torch.Tensor) -> None:
        if self._is_the_jobs() and self._phase != "before":
            self._storages.see(tensor, "other")

    def _made(self, tensor: torch.Tensor) -> None:
        if not self._is_the_jobs():
            return
        self._tell_phase()
        if self._phase == "before" and self._purpose() == "other":
            return  # batches are made on the host; what a model is given of them counts from then on
        self._storages.see(tensor, self._purpose())
        self._operations += 1
        if self._operations >= EVERY:
            self._sample()

    def _resized(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._storages.resized(args[0], self._purpose())

    def _purpose(self) -> str:
        """What is taken now is taken for."""
        if self._purposes:
            return self._purposes[-1]
        if self._phase == "optimizer":
            return HOST if self._offloads_all() else "other"
        return "activations" if self._phase == "forward" or self._modules else "other"

    def _offloads_all(self) -> bool:
        return bool(self._groups) and all(_is_offloaded(adapter.Group(each)) for each in self._groups)

    def _tell_phase(self) -> None:
        phase = self._phase
        if self._optimizer_runs:
            phase = "optimizer"
        elif adapter.backward_is_running():
            phase = "backward"
        elif self._modules:
            phase = "forward"
        elif phase == "optimizer":
            phase = "before"
        if phase != self._phase:
            self._go(phase, self._modules_name())

    def _go(self, phase: str, where: str) -> None:
        if (phase, where) != (self._phase, self._where):
            self._sample()
            self._phase, self._where = phase, where

    def _sample(self) -> None:
        if self._storages.high or self._samples:
            self._samples.append(Sample(self._step, self._phase, self._where, self._storages.at_high()))
        self._storages.lower()
        self._operations = 0

    def _modules_name(self) -> str:
        return next((each for each in reversed(self._modules) if each is not None), "")

    def _enters(self, module: nn.Module, args: Any) -> None:
        self._modules.append(self._names.get(id(module)) if isinstance(module, adapter.FSDPModule) else None)
        self._tell_phase()
        if self._modules[-1] is not None:
            self._go(self._phase, self._modules[-1])

    def _leaves(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._modules and self._modules.pop() is not None and not adapter.backward_is_running():
            self._go(self._phase, self._modules_name())

    def _turns_aside(self, args: Any, kwargs: Any) -> None:
        self._aside += 1

    def _is_back(self) -> None:
        self._aside -= 1

    def _is_the_jobs(self) -> bool:
        return not self._aside and not self._looking()

    def _gathers(self, args: Any, kwargs: Any) -> None:
        self._purposes.append("unsharded")

    def _reduces(self, args: Any, kwargs: Any) -> None:
        self._purposes.append("unsharded_gradients")

    def _done(self) -> None:
        self._purposes.pop()

    def _gathered(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Gradients come to the gathered parameters: nothing else tells them from what they are computed with."""
        for param in adapter.Group(args[0]).params if args[0] in self._groups else ():
            copy = param.gathered
            if copy is not None and copy.requires_grad and id(copy) not in self._hooked:
                self._hooked.add(id(copy))
                self._patches.keep(copy.register_post_accumulate_grad_hook(self._came))

    def _came(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self._storages.call(adapter.local(parameter.grad), "unsharded_gradients")

    def _goes_back(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._tell_phase()
        self._go(self._phase, self._groups.get(args[0], ""))

    def _reduced(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args[0] in self._groups:
            self._settle(adapter.Group(args[0]))

    def _settle(self, group: adapter.Group) -> None:
        """What a group holds between two uses."""
        kinds = (HOST, HOST) if _is_offloaded(group) else ("parameters", "gradients")
        for param in group.params:
            self._storages.call(adapter.local(param.sharded), kinds[0])
            if param.sharded.grad is not None:
                self._storages.call(adapter.local(param.sharded.grad), kinds[1])
            if (accumulated := param.accumulated) is not None:
                self._storages.call(adapter.local(accumulated), "unsharded_gradients")

    def _steps(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._optimizer_runs = True
        self._tell_phase()
        for parameter in (each for group in optimizer.param_groups for each in group["params"]):
            if parameter.grad is not None:  # of those in no group, too
                self._storages.call(adapter.local(parameter.grad), self._kind_beside(parameter, "gradients"))
        self._call_states(optimizer)

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._call_states(optimizer)
        self._optimizer_runs = False

    def _call_states(self, optimizer: Optimizer) -> None:
        for parameter, state in optimizer.state.items():
            kind = self._kind_beside(parameter, "optimizer")
            for value in _tensors(state):
                self._storages.call(adapter.local(value), kind if value.ndim else HOST)  # how many steps it made

    def _kind_beside(self, parameter: torch.Tensor, kind: str) -> str:
        """On the host, if the parameter is."""
        return HOST if self._storages.kind_of(adapter.local(parameter)) == HOST else kind


def _tensors(state: Any) -> Iterator[torch.Tensor]:
    values = state.values() if isinstance(state, dict) else ()
    yield from (each for each in values if isinstance(each, torch.Tensor))


def _is_offloaded(group: adapter.Group) -> bool:
    return isinstance(group.offloading, CPUOffloadPolicy)
