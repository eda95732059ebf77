"""Steps that no optimizer of ``torch.optim`` makes: the job writes to its parameters itself.

Such a step is a backward that reached a model and the next forward of it, if its shards were written between the two.
"""

from __future__ import annotations

import weakref
from typing import Any

from torch import nn

from ... import adapter
from ...agreement.digests import digest
from ...session import Session
from ..forward import closing


def install(session: Session) -> None:
    watch = _Watch(session)
    session.watch_fsdp2("backward_end", after=watch.backward_ended)
    session.watch_fsdp2("first_forward", before=watch.entered)


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.ledger = session.ledger
        # Roots that a backward has reached since their last step, with their shards as it left them.
        self.reached: weakref.WeakKeyDictionary[nn.Module, list[str]] = weakref.WeakKeyDictionary()

    def backward_ended(self, result: Any, token: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root = adapter.modules_of(args[0])[0]
        if self._has_optimizer(root) or adapter.is_captured():
            self.reached.pop(root, None)
        else:
            self.reached[root] = self._shards(root)

    def entered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        root = adapter.modules_of(args[0])[0]
        if (
            not adapter.is_root(args[0])
            or root not in self.reached
            or adapter.forward_is_running(args[0])
            or adapter.is_captured()
        ):
            return
        if self._has_optimizer(root):
            del self.reached[root]
        elif self._shards(root) != self.reached[root]:
            del self.reached[root]
            self._stepped(root)

    def _stepped(self, root: nn.Module) -> None:
        self.session.count_step(self.session.step + 1)
        if (model := self.ledger.model_of(root)) is not None:
            closing.settle(self.session, model)
            if closing.long_enough(self.session, self.session.step):
                closing.look_at_training(self.session, model)

    def _has_optimizer(self, root: nn.Module) -> bool:
        managed = self.ledger.managed(self.ledger.inside(root))
        return any(id(each) in managed for built in self.ledger.optimizers for each in built.held())

    def _shards(self, root: nn.Module) -> list[str]:
        """Counts of writes do not do: ``parameter.data`` has none."""
        params = (param for sharding in self.ledger.inside(root) for param in sharding.params())
        return [digest(param.sharded) for param in params if param.sharded.requires_grad]
