import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor

from sync import over_ranks


class Trainer:
    """One step of training; an error in it is told and ends the job."""

    def __init__(self, model, optimizer, max_norm):
        self.model = model
        self.optimizer = optimizer
        self.params = list(model.parameters())
        self.max_norm = max_norm

    def step(self, inputs, targets):
        loss = self.loss_of(inputs, targets)
        try:
            loss.backward()
        except RuntimeError as error:
            print(f"backward failed for a batch of {tuple(inputs.shape)}: {error}")
            raise
        norm = torch.nn.utils.clip_grad_norm_(self.params, self.max_norm)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        if torch.isfinite(norm):
            self.optimizer.step()
        self.optimizer.zero_grad()
        return over_ranks(loss), norm

    def loss_of(self, inputs, targets):
        return F.mse_loss(self.model(inputs), targets)
