"""What is watched in a job, one module for each part of it. Each has a function ``install(session)``."""

from __future__ import annotations

from ..session import Session
from .checkpoints import async_saves, checkpoints, local_shards, round_trips, state_helpers, written_by_all
from .forward import calls, changes, forward, order
from .initialisation import draws, meta_device
from .launch import process
from .migration import defects
from .precision import inputs, policies
from .ranks import collectives, noise, routing, samplers
from .sharding import composition, options, replacement, sharding
from .training import (
    clipping,
    differentiation,
    dividing,
    fsdp1_methods,
    hand_written,
    hyperparameters,
    local_decisions,
    losses,
    no_gradient,
    norms_by_hand,
    optimizers,
    reductions,
    value_reads,
)

# What is installed last is asked first: `replacement` finds what `sharding` has noted of a call. And it is taken off
# first: below it lies what follows the collectives to the end of the job.
_PARTS = (
    collectives,
    replacement,
    sharding,
    options,
    policies,
    composition,
    draws,
    meta_device,
    inputs,
    forward,
    order,
    changes,
    hand_written,  # before `forward` looks whether enough steps were made
    reductions,
    optimizers,
    no_gradient,
    hyperparameters,
    calls,
    value_reads,
    local_decisions,
    norms_by_hand,
    checkpoints,
    async_saves,
    round_trips,
    local_shards,
    state_helpers,
    written_by_all,
    process,
    routing,
    noise,
    samplers,
    losses,
    fsdp1_methods,
    clipping,
    dividing,
    differentiation,
    defects,
)


def install(session: Session) -> None:
    """Watch everything. Patches take effect at once, whoever imported the patched names before."""
    for part in _PARTS:
        part.install(session)
    session.hot.install()
    session.rare.install()
