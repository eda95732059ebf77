"""Writes checkpoints."""

from typing import Any

import torch
import torch.distributed as dist


def save_checkpoint(state: dict[str, Any], path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(state, path)  # error: [FSDP701]
