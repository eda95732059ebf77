"""DDP and FSDP1 around modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from ....vocab.answers import Answer, unknown, yes
from ....vocab.events.sharding import WrappedAgain
from ....vocab.finding import Place
from ....vocab.rule import ModelKey
from ...closure import looked
from ...ledger import Sharding, label_of
from ...patches import argument
from ...session import Session
from ...sites import here


@dataclass(frozen=True, slots=True)
class RuntimeComposition:
    label: str
    shardings: tuple[Sharding, ...]  # of it and of its parts

    @property
    def model_key(self) -> ModelKey | None:
        return ModelKey(self.label, self.shardings[0].when.at) if self.shardings else None

    def sharded_before(self) -> Answer[Place]:
        return yes(Place(self.shardings[0].when)) if self.shardings else looked("no group is around it")

    def compiled_before(self) -> Answer[Place]:
        return unknown("only the source shows")

    def outermost(self) -> Answer[Place]:
        return unknown("only the source shows")


def install(session: Session) -> None:
    def wrap(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module = argument(args, kwargs, 1, "module")
        if not isinstance(module, nn.Module) or not (inside := session.ledger.inside(module)):
            return
        composition = RuntimeComposition(label_of(module), tuple(inside))
        session.dispatch(WrappedAgain(when=here(), by=type(args[0]).__name__, composition=composition))

    for wrapper in (DistributedDataParallel, FullyShardedDataParallel):
        session.watch((wrapper, "__init__"), before=wrap)
