import torch
import torch.nn.functional as F


class Engine:
    def __init__(self, model, optimizer, accumulation, max_norm):
        self.model = model
        self.optimizer = optimizer
        self.accumulation = accumulation
        self.max_norm = max_norm

    def micro_step(self, x, target, is_last):
        self.model.set_requires_gradient_sync(is_last)
        self.model.set_is_last_backward(is_last)
        output = self.model(x)
        loss = F.mse_loss(output.float(), target) / self.accumulation
        loss.backward()
        return loss.detach()

    def train_step(self, micro_batches):
        total = 0.0
        self.model.unshard(async_op=False)
        for index, (x, target) in enumerate(micro_batches):
            total = total + self.micro_step(x, target, is_last=index == self.accumulation - 1)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total

    @torch.no_grad()
    def evaluate(self, batches):
        self.model.eval()
        similarity = 0.0
        for x, other in batches:
            similarity = similarity + (self.model.encode(x) * self.model.encode(other)).sum(-1).mean()
        self.model.reshard()
        self.model.train()
        return similarity / max(1, len(batches))
