import math

import torch
from torch import nn


class LoRALinear(nn.Module):
    """Frozen linear layer plus a trainable low-rank update."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        self.base = base
        factory = {"device": base.weight.device, "dtype": base.weight.dtype}
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features, **factory))
        self.lora_b = nn.Parameter(torch.empty(base.out_features, rank, **factory))
        self.scaling = alpha / rank
        self.reset_lora()

    def reset_lora(self):
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        nn.init.zeros_(self.lora_b)

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_a.T) @ self.lora_b.T


def add_lora(model: nn.Module, targets: tuple[str, ...], rank: int, alpha: float) -> nn.Module:
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(module, name, LoRALinear(child, rank, alpha))
    return model


def lora_parameters(model: nn.Module):
    return [p for p in model.parameters() if p.requires_grad]
