"""Hidden matrices go to Muon, everything else to AdamW."""

import torch


def split_parameters(model):
    matrices, others, embeddings = [], [], []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if name.startswith(("wte", "lm_head")):
            embeddings.append(parameter)
        elif parameter.ndim == 2:
            matrices.append(parameter)
        else:
            others.append(parameter)
    return matrices, others, embeddings


def build_optimizers(model, args):
    if args.optimizer == "adamw":
        return {"adamw": torch.optim.AdamW(model.parameters(), lr=args.adam_lr, betas=(0.9, 0.95))}
    matrices, others, embeddings = split_parameters(model)
    return {
        "muon": torch.optim.Muon(matrices, lr=args.muon_lr, momentum=0.95, weight_decay=0.01),
        "adamw": torch.optim.AdamW(
            [
                {"params": embeddings, "lr": args.adam_lr},
                {"params": others, "lr": args.adam_lr * 0.1, "weight_decay": 0.0},
            ],
            betas=(0.8, 0.95),
        ),
    }


def build_schedulers(optimizers, args):
    def trapezoid(step):
        left = (args.steps - step) / max(1, args.cooldown)
        return min(1.0, left)

    return {name: torch.optim.lr_scheduler.LambdaLR(opt, trapezoid) for name, opt in optimizers.items()}


def finetune_optimizer(model, lr):
    """Second phase: only the scalars and the output layer keep training."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("lm_head") or parameter.ndim < 2)
    trainable = (p for p in model.parameters() if p.requires_grad)
    return {"adamw": torch.optim.AdamW(trainable, lr=lr)}
