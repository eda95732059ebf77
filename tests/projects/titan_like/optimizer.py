import torch


class OptimizersContainer:
    """One optimizer per model part, driven as one."""

    def __init__(self, model_parts, optimizer_cls, optimizer_kwargs):
        self.model_parts = model_parts
        self.optimizers = []
        for part in model_parts:
            params = [p for p in part.parameters() if p.requires_grad]
            self.optimizers.append(optimizer_cls(params, **optimizer_kwargs))

    def __iter__(self):
        return iter(self.optimizers)

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()


def build_optimizers(model_parts, cfg):
    kwargs = {"lr": cfg.lr, "betas": (0.9, 0.95), "weight_decay": 0.1, "fused": True}
    return OptimizersContainer(model_parts, torch.optim.AdamW, kwargs)


def build_lr_schedulers(optimizers, cfg):
    warmup = max(1, cfg.steps // 20)
    return [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
        for optimizer in optimizers
    ]
