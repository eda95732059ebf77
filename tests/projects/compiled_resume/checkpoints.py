import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


def read_pretrained(path):
    """One rank reads the file, and sends it to the others while it is loaded."""
    if dist.get_rank() == 0:
        return torch.load(path, map_location="cpu", mmap=True)
    return {}


def load_pretrained(network, path):
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(network, read_pretrained(path), options=options)


def states(network, optimizer):
    return {
        "network": get_model_state_dict(network),
        "optimizer": get_optimizer_state_dict(network, optimizer),
    }


def save(folder, network, optimizer):
    dcp.save(states(network, optimizer), checkpoint_id=folder)


def resume(folder, network, optimizer):
    state = states(network, optimizer)
    dcp.load(state, checkpoint_id=folder)
    set_model_state_dict(network, state["network"])
    set_optimizer_state_dict(network, optimizer, optim_state_dict=state["optimizer"])


class Exporter:
    """Weights for other programs, in the background and at the end."""

    def __init__(self, folder):
        self.folder = folder
        self.group = dist.new_group(backend="gloo")
        self.running = None

    def wait(self):
        if self.running is not None:
            self.running.result()

    def start(self, network, step):
        self.wait()
        weights = get_model_state_dict(network)
        path = os.path.join(self.folder, str(step))
        self.running = dcp.async_save(weights, checkpoint_id=path, process_group=self.group)

    def finish(self, network):
        self.wait()
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights = get_model_state_dict(network, options=options)
        if dist.get_rank() == 0:
            torch.save(weights, os.path.join(self.folder, "final.pt"))
