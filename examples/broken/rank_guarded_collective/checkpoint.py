"""Writes the full weights to one file."""

import torch

from model import Net


def save_full_weights(model: Net, path: str) -> None:
    weights = {}
    for name, shard in model.state_dict().items():
        weights[name] = shard.full_tensor().cpu()  # related: [FSDP801]
    torch.save(weights, path)
