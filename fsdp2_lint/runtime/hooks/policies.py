"""The plan of a model as a whole, once it is complete."""

from __future__ import annotations

from ...vocab.events.policies import ReshardingSettled
from ..handles.policies import RuntimeResharding
from ..ledger import Trained
from ..session import Session


def settle(session: Session, model: Trained) -> None:
    top = model.module()
    if top is None:
        return
    for sharding in session.ledger.inside(top):
        for module in sharding.live_modules():
            if module not in session.ledger.below:
                resharding = RuntimeResharding(session.ledger, module)
                session.hear(ReshardingSettled(when=sharding.when, resharding=resharding))
