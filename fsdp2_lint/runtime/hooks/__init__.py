"""What is watched in a job, one module for each part of it. Each has a function ``install(session)``."""

from __future__ import annotations

from ..session import Session
from . import (
    async_saves,
    calls,
    checkpoints,
    forward,
    local_shards,
    optimizers,
    process,
    readings,
    round_trips,
    sharding,
    state_helpers,
)


def install(session: Session) -> None:
    """Watch everything. Patches take effect at once, whoever imported the patched names before."""
    for part in (
        sharding,
        forward,
        optimizers,
        calls,
        readings,
        checkpoints,
        async_saves,
        round_trips,
        local_shards,
        state_helpers,
        process,
    ):
        part.install(session)
    session.hot.install()
    session.rare.install()
