"""What of NCCL a script names itself, where torch is built without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch.distributed as dist

from ...runtime.adapter import rehearsal
from .replacing import instead


class ProcessGroupNCCL:
    """No group of a rehearsal is one, as no fake one is in a torch that has NCCL."""

    class Options:
        """Streams, priorities and limits of NCCL: they change how fast it sends, and nothing that a rehearsal sees."""

        def __init__(self, is_high_priority_stream: bool = False, **given: Any) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.config = SimpleNamespace()


def stand_in() -> None:
    for module in (dist, dist.distributed_c10d):
        if not hasattr(module, "ProcessGroupNCCL"):
            module.ProcessGroupNCCL = ProcessGroupNCCL  # type: ignore[attr-defined]
    # Sound: how long ranks wait for each other decides nothing where each is always there.
    for name in ("_set_pg_timeout", "set_timeout"):
        instead(rehearsal.spots_of_groups(name), lambda original: lambda *args, **kwargs: None)
