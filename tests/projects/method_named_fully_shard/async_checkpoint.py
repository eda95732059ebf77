import os

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict


class AsyncCheckpointer:
    """At most one save is in flight, and it talks through its own gloo group."""

    def __init__(self, root):
        self.root = root
        self.group = dist.new_group(backend="gloo")
        self.pending = None

    def wait(self):
        if self.pending is not None:
            self.pending.result()
            self.pending = None

    def save(self, net, optimizer, step):
        self.wait()
        model_state, optim_state = get_state_dict(net, optimizer)
        state = {"net": model_state, "optimizer": optim_state, "step": step}
        path = os.path.join(self.root, f"iter_{step:07d}")
        self.pending = dcp.async_save(state, checkpoint_id=path, process_group=self.group)
