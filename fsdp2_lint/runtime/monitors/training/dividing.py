"""By what the groups of a model divide their gradients."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.fsdp import FSDPModule

from ....vocab.answers import Many, many
from ....vocab.events.training import Divides, GradientsDivided
from ....vocab.facts import Fact
from ....vocab.finding import Moment
from ... import adapter
from ...agreement.digests import sample
from ...closure import looked
from ...ledger import Sharding, label_of
from ...session import Session
from ...sites import here
from ..shared.models import RuntimeModel

_KIND = "divided"
Said = MutableMapping[nn.Module, Moment]


@dataclass(frozen=True, slots=True)
class RuntimeDividing(RuntimeModel):
    said: Said | None = None  # where groups were given their numbers

    def unevenly(self) -> Many[Divides]:
        """One for each place that gives a number: the outermost group comes last."""
        groups = list(trained(self.ledger.inside(self.module)))
        found: dict[Moment, Divides] = {}
        for sharding, own in groups:
            place = next((self.said[each] for each in sharding.live_modules() if self.said and each in self.said), None)
            if place is None:
                continue
            for other, theirs in groups:
                if not own.fits(theirs) and (other.when, theirs.by) != (sharding.when, own.by):
                    numbers = f"{own.by:g}", f"{theirs.by:g}"
                    found[place] = Divides(
                        sharding.label, numbers[0], place, other.label, numbers[1], other.when
                    )  # fmt: skip
        last = list(found.values())[-1:]
        return many(last, looked("the numbers that its groups divide by were compared"))


def trained(shardings: list[Sharding]) -> Iterator[tuple[Sharding, adapter.Division]]:
    """Groups with gradients: what is frozen divides nothing."""
    for sharding in shardings:
        for group in sharding.groups():
            if any(param.sharded.requires_grad for param in group.params):
                yield sharding, adapter.division(group)


def install(session: Session) -> None:
    watch = _Watch(session)
    for name in ("set_gradient_divide_factor", "set_reduce_scatter_divide_factor"):
        if hasattr(FSDPModule, name):
            session.watch((FSDPModule, name), before=watch.given)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.said: Said = weakref.WeakKeyDictionary()
        self.told: set[int] = set()  # groups of fewer ranks, by identity

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.said[args[0]] = here()

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module = adapter.modules_of(args[0])[0]
        model = RuntimeDividing(self.session.ledger, module, said=self.said)
        self.session.dispatch(GradientsDivided(when=here(), model=model))
        if self.session.compares(_KIND) and self.session.ledger.sends_tokens and not adapter.is_captured():
            self._experts(module)

    def _experts(self, root: nn.Module) -> None:
        """What may be experts: only their weights say that they are none, and other ranks have those."""
        own = self.session.ledger.of_module(root)
        rest = next(iter(own.groups()), None) if own is not None else None
        if rest is None:
            return
        everyone = adapter.ranks_of(rest.mesh)
        for sharding in self.session.ledger.inside(root):
            for group in sharding.groups():
                fewer = set(adapter.ranks_of(group.mesh)) < set(everyone)
                uneven = adapter.division(group).by < adapter.division(rest).by
                if fewer and uneven and id(group.raw) not in self.told and group.params:
                    self.told.add(id(group.raw))
                    self.session.state(_fact(sharding, group, rest, everyone))


def _fact(sharding: Sharding, group: adapter.Group, rest: adapter.Group, ranks: tuple[int, ...]) -> Fact:
    first = group.params[0]
    traits = {
        "place": f"{group.shard_rank} of {group.shards}",
        "label": label_of(*sharding.live_modules()),
        "by": f"{adapter.division(group).by:g}",
        "rest": f"{adapter.division(rest).by:g}",
    }
    return Fact(_KIND, group.fqn, sharding.when, ranks, {"weights": sample(first.sharded)}, traits=traits)
