"""DDP and FSDP1 around modules."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from ...vocab.events.composition import WrappedAgain
from ..handles.composition import RuntimeComposition
from ..ledger import label_of
from ..session import Session
from ..sites import here


def install(session: Session) -> None:
    def wrap(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module = args[1] if len(args) > 1 else kwargs.get("module")
        if not isinstance(module, nn.Module) or not (inside := session.ledger.inside(module)):
            return
        composition = RuntimeComposition(label_of(module), tuple(inside))
        session.hear(WrappedAgain(when=here(), by=type(args[0]).__name__, composition=composition))

    for wrapper in (DistributedDataParallel, FullyShardedDataParallel):
        session.hot.watch((wrapper, "__init__"), before=session.quietly(wrap))
