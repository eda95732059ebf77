"""Checkpoints to resume from, and the export of the full weights."""

import os
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.stateful import Stateful
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


class TrainState(Stateful):
    """All that a resumed run needs; dcp.save and dcp.load call the two methods."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        scheduler: LRScheduler,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.epoch = 0

    def state_dict(self) -> dict[str, Any]:
        model_state, optim_state = get_state_dict(self.model, self.optimizer)
        return {
            "model": model_state,
            "optim": optim_state,
            "scheduler": self.scheduler.state_dict(),
            "epoch": self.epoch,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optim"],
        )
        self.scheduler.load_state_dict(state_dict["scheduler"])
        self.epoch = state_dict["epoch"]


def save_checkpoint(state: TrainState, output: str) -> None:
    """Every rank calls this, and writes its own shards."""
    path = os.path.join(output, f"epoch-{state.epoch}")
    dcp.save({"train": state}, checkpoint_id=path)


def load_latest(state: TrainState, output: str) -> None:
    """Load the newest complete checkpoint, if there is one, on every rank."""
    newest = [0]
    if dist.get_rank() == 0:
        newest = [max(finished_epochs(output), default=0)]
    # Rank 0 looks and broadcasts the result, so that all load the same checkpoint or none.
    dist.broadcast_object_list(newest, src=0)
    if newest[0]:
        path = os.path.join(output, f"epoch-{newest[0]}")
        dcp.load({"train": state}, checkpoint_id=path)


def finished_epochs(output: str) -> list[int]:
    """Epochs whose checkpoint is complete: dcp.save writes .metadata last."""
    if not os.path.isdir(output):
        return []
    return [
        int(name.removeprefix("epoch-"))
        for name in os.listdir(output)
        if os.path.exists(os.path.join(output, name, ".metadata"))
    ]


def export_weights(model: nn.Module, path: str) -> None:
    """Write the full weights to one file that loads without any process group."""
    # All ranks gather, rank 0 keeps the result in CPU memory, rank 0 writes.
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(weights, path)
