"""What is watched in a job, one module for each part of it. Each has a function ``install(session)``."""

from __future__ import annotations

from ..session import Session
from . import (
    calls,
    checkpoints,
    composition,
    forward,
    optimizers,
    options,
    policies,
    process,
    readings,
    replacement,
    sharding,
)


def install(session: Session) -> None:
    """Watch everything. Patches take effect at once, whoever imported the patched names before.

    What is installed last is asked first: `replacement` finds what `sharding` has noted of a call.
    """
    parts = (replacement, sharding, options, policies, composition, forward, optimizers, calls, readings, checkpoints)
    for part in (*parts, process):
        part.install(session)
    session.hot.install()
    session.rare.install()
