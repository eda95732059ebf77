import os

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


class CheckpointManager:
    def __init__(self, model_parts, optimizers, cfg):
        self.model_parts = model_parts
        self.optimizers = optimizers
        self.folder = cfg.checkpoint_folder
        self.interval = cfg.checkpoint_interval

    def _path(self, step: int) -> str:
        return os.path.join(self.folder, f"step-{step}")

    def _states(self) -> dict:
        states = {}
        for index, (part, optimizer) in enumerate(zip(self.model_parts, self.optimizers)):
            model_state, optimizer_state = get_state_dict(part, optimizer)
            states[f"model.{index}"] = model_state
            states[f"optimizer.{index}"] = optimizer_state
        return states

    def save(self, step: int) -> None:
        if step % self.interval != 0:
            return
        dcp.save(self._states(), checkpoint_id=self._path(step))

    def load(self, step: int) -> None:
        if step < 0:
            return
        states = self._states()
        dcp.load(states, checkpoint_id=self._path(step))
        for index, (part, optimizer) in enumerate(zip(self.model_parts, self.optimizers)):
            set_state_dict(
                part,
                optimizer,
                model_state_dict=states[f"model.{index}"],
                optim_state_dict=states[f"optimizer.{index}"],
            )
