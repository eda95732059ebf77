import re
from pathlib import Path

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful


class AppState(Stateful):
    """Model, optimizer and step counter as one object that DCP can save and load."""

    def __init__(self, model, optimizer, step=0):
        self.model = model
        self.optimizer = optimizer
        self.step = step

    def state_dict(self):
        model_state, optimizer_state = get_state_dict(self.model, self.optimizer)
        return {"model": model_state, "optimizer": optimizer_state, "step": self.step}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optimizer"],
        )
        self.step = state_dict["step"]


class Checkpointer:
    def __init__(self, folder, keep_every):
        self.folder = Path(folder)
        self.keep_every = keep_every

    def latest(self):
        found = [int(m.group(1)) for p in self.folder.glob("step_*") if (m := re.fullmatch(r"step_(\d+)", p.name))]
        return max(found, default=None)

    def save(self, app_state):
        if app_state.step % self.keep_every:
            return
        dcp.save({"app": app_state}, checkpoint_id=str(self.folder / f"step_{app_state.step}"))

    def restore(self, app_state):
        step = self.latest()
        if step is None:
            return False
        dcp.load({"app": app_state}, checkpoint_id=str(self.folder / f"step_{step}"))
        return True
