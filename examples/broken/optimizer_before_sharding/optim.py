"""How the optimizer is built."""

from torch.optim import AdamW, Optimizer

from model import Net


def build_optimizer(model: Net, lr: float) -> Optimizer:
    """No weight decay for biases and norms."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=lr)  # related: [FSDP601]
