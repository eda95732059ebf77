"""The training loop."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.optim import AdamW

from data import make_batch
from model import Net


class Trainer:
    def __init__(self, model: Net, device: torch.device) -> None:
        self.model = model
        self.device = device
        self.optimizer = AdamW(model.parameters(), lr=1e-2)

    def loss(self, step: int) -> torch.Tensor:
        tokens, targets = make_batch(step, self.device)
        logits = self.model.forward(tokens)  # error: [FSDP401]
        return F.cross_entropy(logits, targets)

    def train(self, steps: int) -> None:
        for step in range(1, steps + 1):
            loss = self.loss(step)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if dist.get_rank() == 0:
                print(f"step {step}, loss {loss.item():.4f}", flush=True)
