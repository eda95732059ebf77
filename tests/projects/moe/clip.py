"""Gradient clipping over parameters that live on two meshes."""

import torch
from torch.distributed.tensor import DTensor


def _norm(parameters):
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    return norm.full_tensor() if isinstance(norm, DTensor) else norm


def clip_moe_gradients(model, max_norm):
    dense, expert = [], []
    for name, parameter in model.named_parameters():
        (expert if ".experts." in name else dense).append(parameter)
    total = (_norm(dense) ** 2 + _norm(expert) ** 2) ** 0.5
    for group in (dense, expert):
        torch.nn.utils.clip_grads_with_norm_(group, max_norm, total)
    return total
