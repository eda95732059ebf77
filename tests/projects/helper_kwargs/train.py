import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from model import Classifier, ModelConfig
from parallel import apply_fsdp, setup_distributed, shutdown


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=8192)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=65536)
    parser.add_argument("--param-dtype", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--reshard", choices=["default", "always"], default="default")
    parser.add_argument("--cpu-offload", action="store_true")
    parser.add_argument("--checkpoint-dir", default="checkpoints")
    return parser.parse_args()


def build_optimizer(model, lr=1e-4):
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    rest = [p for n, p in model.named_parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def train(args):
    mesh = setup_distributed(args.cpu_offload)
    torch.manual_seed(0)
    model = Classifier(ModelConfig(args.features, args.hidden, args.depth, args.classes))
    apply_fsdp(
        model,
        mesh,
        param_dtype=args.param_dtype,
        reshard=args.reshard,
        cpu_offload=args.cpu_offload,
    )
    optimizer = build_optimizer(model)

    data = TensorDataset(torch.randn(args.samples, args.features), torch.randint(args.classes, (args.samples,)))
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)

    model.train()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for features, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = model(features.cuda(), labels.cuda())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {loss.item():.3f}")
        dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=f"{args.checkpoint_dir}/epoch_{epoch}")
    shutdown()


if __name__ == "__main__":
    train(parse_args())
