"""Random numbers for shards that lie on the CPU, where each rank draws from a generator of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from ....vocab.facts import Fact, in_words
from ....vocab.finding import Moment
from ... import adapter
from ...agreement.digests import sample
from ...ledger import dotted, label_of
from ...session import Session
from ...sites import here

KIND = "drawn-shards"
MOST_NAMES = 8  # of one model: one is enough to tell
# In these all random numbers of tensors begin; of those of ``nn.init`` only this one changes them afterwards.
_METHODS = "uniform_ normal_ random_ bernoulli_ cauchy_ exponential_ log_normal_".split()
_LAST = "trunc_normal_"


@dataclass(frozen=True, slots=True)
class _Draw:
    """``digest`` is that of this rank's shard when it had been drawn."""

    when: Moment
    digest: str


def install(session: Session) -> None:
    if not session.compares(KIND):
        return
    watch = _Watch(session)
    for name in _METHODS:
        session.watch((adapter.DTensor, name), after=watch.drawn)
    session.watch((nn.init, _LAST), after=watch.drawn)
    session.watch_fsdp2("first_forward", before=watch.begin)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.draws: dict[int, _Draw] = {}  # by the identity of the DTensor

    def drawn(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """On GPUs ranks draw from one stream of numbers, each at the place of its shard."""
        tensor = args[0] if args else kwargs.get("tensor")
        if not isinstance(tensor, adapter.DTensor) or not isinstance(tensor, nn.Parameter):
            return
        if adapter.device_meant(adapter.local(tensor).device).type == "cpu":
            self.draws[id(tensor)] = _Draw(here(), sample(tensor))

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.draws and adapter.is_root(args[0]) is None:
            self.state(adapter.modules_of(args[0])[0])

    def state(self, root: nn.Module) -> None:
        """What is left of the draws when the model first runs: nothing is said of what was written or loaded since."""
        paths = {id(module): path for path, module in root.named_modules()}
        found: dict[tuple[int, ...], dict[str, _Draw]] = {}
        for sharding in self.session.ledger.inside(root):
            for ranks, param, draw in self._left(sharding.groups()):
                found.setdefault(ranks, {})[dotted(paths.get(id(param.module), ""), param.name)] = draw
        order = list(self.draws.values())
        for ranks, draws in found.items():
            first = dict(sorted(draws.items(), key=lambda each: order.index(each[1]))[:MOST_NAMES])
            when = next(iter(first.values())).when
            values = {name: draw.digest for name, draw in first.items()}
            places = {name: draw.when.at for name, draw in first.items()}
            key = f"{label_of(root)} over {in_words(ranks)}"
            self.session.state(Fact(KIND, key, when, ranks, values, places))

    def _left(self, groups: list[adapter.Group]) -> Iterator[tuple[tuple[int, ...], adapter.Param, _Draw]]:
        for group in groups:
            ranks = adapter.ranks_of_replica(group)
            for param in group.params if len(ranks) > 1 else ():
                draw = self.draws.get(id(param.sharded))
                even = param.shape[param.dimension] % len(ranks) == 0
                if draw is not None and even and _varies(param) and sample(param.sharded) == draw.digest:
                    yield ranks, param, draw


def _varies(param: adapter.Param) -> bool:
    shard = adapter.local(param.sharded).reshape(-1)
    return bool(shard.numel() and (shard != shard[0]).any())
