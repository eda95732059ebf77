"""``forward`` of a sharded module, called by name."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn

from ....vocab.events.forward import Called
from ... import adapter
from ...patches import argument
from ...session import Session
from ...sites import here
from ..shared.models import RuntimeModel


def install(session: Session) -> None:
    session.watch((nn.Module, "compile"), before=lambda args, kwargs: _keep(session))
    session.watch((torch, "compile"), before=lambda args, kwargs: _keep(session))
    session.watch_fsdp2("sharding", before=lambda args, kwargs: _shard(session, args, kwargs))


def _keep(session: Session) -> None:
    # Taking the wrappers of `forward` off would make torch.compile trace the model once more.
    session.compiles = True


def _shard(session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Watch ``forward`` of the classes that are sharded."""
    for module in argument(args, kwargs, 1, "modules"):
        cls = type(module)
        # TorchScript compiles torch's own classes from their source, and would find ours.
        if not cls.__module__.startswith("torch.") and not hasattr(cls.forward, "_fsdp2_lint"):
            watch_forward(session, cls)


def watch_forward(session: Session, cls: type[nn.Module]) -> None:
    original = cls.forward
    note = session.quietly(_called)

    @functools.wraps(original)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling() and session.hot.live and _bypasses(self):
            note(session, self)
        return original(self, *args, **kwargs)

    forward._fsdp2_lint = True  # type: ignore[attr-defined]
    session.hot.replace(cls, "forward", forward, keep=lambda: session.compiles)


def _bypasses(module: nn.Module) -> bool:
    return adapter.state_of(module) is not None and adapter.hooks_have_run(module) is False


def _called(session: Session, module: nn.Module) -> None:
    sharding = session.ledger.of_module(module)
    by_hand = sharding is not None and sharding.unsharded_by_user
    model = RuntimeModel(session.ledger, module, bypassed=not by_hand)
    session.dispatch(Called(when=here(), model=model, method="forward"))
