"""A module and all below it, alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ....vocab.answers import Answer, Many, many, unknown, yes
from ....vocab.finding import NOWHERE, Moment, Place
from ....vocab.live import Leftover, Memory, Stray
from ....vocab.rule import ModelKey
from ... import adapter
from ...agreement.digests import is_all_zero, sample
from ...closure import looked
from ...ledger import Built, Ledger, Sharding, label_of
from ...notes import Emptied
from ...stand_ins import set_at
from .memory import memory_of
from .units import strays, unfinished


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    ledger: Ledger
    module: nn.Module
    bypassed: bool = False  # a method of it runs without FSDP2's hooks
    optimizer: Built | None = None  # the one that steps

    @property
    def label(self) -> str:
        return label_of(self.module)

    @property
    def model_key(self) -> ModelKey:
        if (model := self.ledger.model_of(self.module)) is not None:
            return model.key
        inside = self.ledger.inside(self.module)
        around = self.ledger.below.get(self.module)
        first = inside[0] if inside else around
        return ModelKey(self.label, first.when.at if first else NOWHERE)

    def units(self) -> Many[Moment]:
        return many(
            (each.when for each in self.ledger.inside(self.module)), looked("all calls of fully_shard were seen")
        )

    def touched(self) -> Many[Moment]:
        around = self.ledger.below.get(self.module)
        return many(
            [*self.units(), *([around.when] if around is not None else [])],
            looked("all calls of fully_shard were seen"),
        )

    def inner_units(self) -> Many[Moment]:
        listed = self._listed()
        own = self.ledger.of_module(self.module)
        return many((
            each.when for each in self.ledger.inside(self.module) if each is not own and each not in listed
), looked("all calls of fully_shard were seen"))  # fmt: skip

    def sharded(self) -> Answer[Moment]:
        own = self.ledger.of_module(self.module)
        return yes(own.when) if own is not None else looked("all calls of fully_shard were seen")

    def one_group(self) -> Answer[Moment]:
        listed = self._listed()
        return yes(listed[0].when) if listed else self.sharded()

    def _listed(self) -> list[Sharding]:
        """Calls that took all blocks of a stack at once."""
        stacks = [{id(block) for block in blocks} for _, blocks in self._stacks()]
        return [
            sharding
            for sharding in self.ledger.inside(self.module)
            if any(stack <= {id(each) for each in sharding.live_modules()} for stack in stacks)
        ]

    def _stacks(self) -> list[tuple[str, list[nn.Module]]]:
        """Containers of two or more modules of one class that hold parameters: (name, the modules)."""
        found = []
        for name, module in self.module.named_modules():
            if isinstance(module, (nn.ModuleList, nn.ModuleDict, nn.Sequential)):
                blocks = [child for child in module.children() if any(True for _ in child.parameters())]
                classes = {adapter.original_class(adapter.unwrapped(block)) for block in blocks}
                # Kinds of blocks may alternate.
                if (
                    len(blocks) > 1
                    and len(classes) <= max(1, len(blocks) // 2)
                    and any(True for _ in blocks[0].children())
                ):
                    found.append((name.rpartition(".")[2] or self.label, blocks))
        return found

    def trained(self) -> Answer[object]:
        model = self.ledger.model_of(self.module)
        if model is not None and model.trained:
            return yes(True)
        return unknown(f"no backward pass through {self.label} was seen")

    def frozen(self) -> Answer[object]:
        if any(each.requires_grad for each in self.module.parameters()):
            return looked("one of its parameters requires a gradient")
        return yes(True)

    def repeats(self) -> Answer[str]:
        stacks = self._stacks()
        return yes(stacks[0][0]) if stacks else looked("its containers were looked at")

    def parameter_count(self) -> Answer[int]:
        return yes(sum(each.numel() for each in self.module.parameters()))

    def outside(self) -> Answer[list[str]]:
        ignored = {each for sharding in self.ledger.inside(self.module) for each in sharding.ignored}
        late = {id(value) for _, values in self._late() for value in values}
        names = [
            name for name, parameter in self._unmanaged() if id(parameter) not in ignored and id(parameter) not in late
        ]
        return yes(names) if names else looked("each of its parameters is in a group")

    def _unmanaged(self) -> list[tuple[str, nn.Parameter]]:
        """Trainable parameters that no group holds and nothing else has distributed."""
        managed = self.ledger.managed(self.ledger.inside(self.module))
        reduced = {
            id(parameter)
            for part in self.module.modules()
            if isinstance(part, DistributedDataParallel)
            for parameter in part.parameters()
        }
        # Where there are optimizers, what none of them holds is not trained.
        trained = {id(parameter) for built in self.ledger.optimizers for parameter in built.held()}
        return [
            (name, parameter)
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad
            and id(parameter) not in managed
            and id(parameter) not in reduced
            and (id(parameter) in trained or not trained)
            and not isinstance(parameter, adapter.DTensor)
        ]

    def added_late(self) -> Many[tuple[Moment, str, Moment]]:
        return many(
            (late for late, _ in self._late()), looked("all attributes that were set after sharding were looked at")
        )

    def _late(self) -> list[tuple[tuple[Moment, str, Moment], list[torch.Tensor]]]:
        outside = {id(parameter): parameter for _, parameter in self._unmanaged()}
        found = []
        paths = {id(part): path for path, part in self.module.named_modules()}
        for attached in self.ledger.attached:
            value, owner = attached.live_value(), attached.owner()
            if value is None or owner is None or id(owner) not in paths:
                continue
            name = ".".join(filter(None, (paths[id(owner)], attached.name)))
            parameters = [value] if isinstance(value, torch.Tensor) else list(value.parameters())
            if own := [each for each in parameters if id(each) in outside]:
                found.append(((attached.when, name, attached.sharding.when), own))
        return found

    def hooks_bypassed(self, method: str) -> Answer[Place | None]:
        return yes(None) if self.bypassed else looked("the hooks ran")

    def wrapped(self) -> Answer[object]:
        return looked("it is no wrapper")

    def uninitialised(self) -> Answer[tuple[Moment, list[str]]]:
        """Zeros may have been written without a trace, through ``.data``: alone they prove nothing."""
        for when, tensors in self._emptied(buffers=False):
            untouched = [each for each in tensors if _is_untouched(*each)]
            if len(untouched) < len(tensors):
                untouched = [(each, current) for each, current in untouched if not is_all_zero(current)]
            if untouched:
                return yes((when, [each.fqn for each, _ in untouched]))
        return looked("nothing is left as to_empty allocated it")

    def written_in_other_runs(self) -> Many[Place]:
        return many((), looked("a job sees its own run only"))

    def unrestored_buffers(self) -> Answer[tuple[Moment, list[str]]]:
        for when, tensors in self._emptied(buffers=True):
            if names := [each.fqn for each, current in tensors if _is_untouched(each, current)]:
                return yes((when, names))
        return looked("nothing is left as to_empty allocated it")

    def _emptied(self, *, buffers: bool) -> Iterator[tuple[Moment, list[tuple[Emptied, torch.Tensor]]]]:
        """What ``to_empty`` allocated in this model, with what is there now; the last call first."""
        own = {id(part) for part in self.module.modules()}
        space: Callable[[nn.Module], Mapping[str, torch.Tensor | None]]
        space = adapter.own_buffers if buffers else adapter.own_parameters
        for when, tensors in reversed(self.ledger.emptied):
            found = []
            for each in tensors:
                module = each.module()
                if each.is_buffer is buffers and module is not None and id(module) in own:
                    current = space(module).get(each.name)
                    if current is not None and current.device.type != "meta":
                        found.append((each, current))
            yield when, found

    def strays(self) -> Many[Stray]:
        first = adapter.is_root(adapter.state_of(self.module)) is None
        return many(
            (
                Stray(sharding.when, param.fqn, what, set_at(self.ledger, param))
                for sharding in self.ledger.inside(self.module)
                for param, what in strays(sharding, first)
            ),
            looked("all parameters of its groups were looked at"),
        )

    def stale(self) -> Many[Leftover]:
        return many(
            (
                each.outlived
                for each in self.ledger.inside(self.module)
                if each.outlived is not None and any(group.uses_a_copy for group in each.groups())
            ),
            looked("all its groups were asked what they hold"),
        )

    def unsynchronised(self) -> Many[tuple[str, Place]]:
        return many(
            (
                (each.label, left)
                for each in self.ledger.inside(self.module)
                if (left := each.gradients.left_off or unfinished(each)) is not None and self._is_stepped(each)
            ),
            looked("all its groups were asked whether they reduce"),
        )

    def _is_stepped(self, sharding: Sharding) -> bool:
        """Does the optimizer that steps hold parameters of it?"""
        held = {id(parameter) for parameter in self.optimizer.held()} if self.optimizer is not None else set()
        return any(id(param.sharded) in held for param in sharding.params())

    def without_optimizer(self) -> Answer[tuple[Moment, list[str]]]:
        held = {id(parameter) for built in self.ledger.optimizers for parameter in built.held()}
        managed = self.ledger.managed(self.ledger.inside(self.module))
        trainable = {
            id(param.sharded): param.fqn for _, param in managed.values() if param.sharded.requires_grad
        }  # fmt: skip
        mine = [
            built for built in self.ledger.optimizers if any(id(parameter) in trainable for parameter in built.held())
        ]
        if not mine:
            return unknown(f"no optimizer of torch.optim holds parameters of {self.label}")
        wanted = {id(param.sharded) for _, param in managed.values() if param.sharded.grad is not None}
        names = [name for key, name in trainable.items() if key not in held and key in wanted]
        return yes((mine[0].when, names)) if names else looked("each of its parameters is held by an optimizer")

    def memory(self) -> Answer[Memory]:
        shardings = self.ledger.inside(self.module)
        if not shardings:
            return unknown(f"{self.label} is not sharded")
        return yes(memory_of(self.module, shardings, self.ledger))


def _is_untouched(emptied: Emptied, current: torch.Tensor) -> bool:
    """Is it what ``to_empty`` left behind, by its count of writes and bit by bit?"""
    if emptied.is_buffer and id(current) != emptied.identity:
        return False  # registered anew
    if adapter.version(current) != emptied.version:
        return False
    own = adapter.local(current)
    return adapter.is_hollow(own) if adapter.is_fake(own) else sample(current) == emptied.digest
