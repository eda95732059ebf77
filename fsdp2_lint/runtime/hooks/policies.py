"""The plan of a model as a whole, once it is complete."""

from __future__ import annotations

import sys
from typing import Any

from torch.distributed.device_mesh import DeviceMesh

from ...vocab.events.policies import PolicySettled, ReshardingSettled
from .. import adapter
from ..handles.policies import RuntimePolicy, RuntimeResharding
from ..ledger import Trained
from ..session import Session
from ..sites import called_by_torch


def install(session: Session) -> None:
    """Which dimensions of meshes the program makes use of itself."""

    def group(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not called_by_torch(sys._getframe()):
            asked = args[1] if len(args) > 1 else kwargs.get("mesh_dim")
            names = adapter.names_of(args[0])
            session.ledger.mesh_uses.update(names if asked is None else [asked] if isinstance(asked, str) else names)

    session.hot.watch((DeviceMesh, "get_group"), before=session.quietly(group))


def settle(session: Session, model: Trained) -> None:
    top = model.module()
    if top is None:
        return
    for sharding in session.ledger.inside(top):
        for root in sharding.live_modules():
            if root not in session.ledger.below:
                resharding = RuntimeResharding(session.ledger, root)
                session.hear(ReshardingSettled(when=sharding.when, resharding=resharding))
                for each in session.ledger.inside(root):
                    policy = RuntimePolicy(session.ledger, each, root)
                    session.hear(PolicySettled(when=each.when, policy=policy))
