"""What is watched in a job, one module for each part of it. Each has a function ``install(session)``."""

from __future__ import annotations

from ..session import Session
from . import calls, checkpoints, forward, optimizers, order, process, readings, sharding


def install(session: Session) -> None:
    """Watch everything. Patches take effect at once, whoever imported the patched names before."""
    for part in (sharding, forward, order, optimizers, calls, readings, checkpoints, process):
        part.install(session)
    session.hot.install()
    session.rare.install()
