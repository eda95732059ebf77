import os

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, set_model_state_dict
from torch.distributed.tensor import DTensor

from ranks import is_main_process


class Saver:
    def __init__(self, folder):
        self.folder = folder

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _gather(self, state):
        """Every rank takes part; only the main process keeps the whole tensors."""
        out = {}
        for key, value in state.items():
            if isinstance(value, DTensor):
                value = value.full_tensor()
            if is_main_process():
                out[key] = value.detach().cpu()
            del value
        return out

    def _optimizer(self, model, optimizer):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return get_optimizer_state_dict(model, optimizer, options=options)

    def save(self, model, optimizer, scheduler, step):
        weights = self._gather(model.state_dict())
        moments = self._optimizer(model, optimizer)
        if not is_main_process():
            return
        os.makedirs(self.folder, exist_ok=True)
        torch.save(weights, self._path(f"weights_{step}.pt"))
        torch.save({"optimizer": moments, "scheduler": scheduler.state_dict(), "step": step}, self._path("train.pt"))

    def load_weights(self, model, path):
        state = torch.load(path, map_location="cpu", weights_only=True) if is_main_process() else {}
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(model, state, options=options)
