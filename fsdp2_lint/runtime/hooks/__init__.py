"""What is watched in a job, one module for each part of it. Each has a function ``install(session)``."""

from __future__ import annotations

from ..session import Session
from . import calls, checkpoints, collectives, forward, losses, optimizers, process, readings, sharding


def install(session: Session) -> None:
    """Watch everything. Patches take effect at once, whoever imported the patched names before."""
    for part in (sharding, forward, optimizers, calls, readings, checkpoints, process, collectives, losses):
        part.install(session)
    session.hot.install()
    session.rare.install()
