import argparse
import copy
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler

from data import Curve
from model import Regressor
from sync import counted, extremes, first_statistics, spread_statistics, spread_weights
from trainer import Trainer


def shard(model, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def make_loader(args):
    samples, inputs = args.samples, args.inputs
    data = Curve(samples, inputs)
    sampler = DistributedSampler(data, drop_last=True)
    return DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True), sampler


@torch.no_grad()
def follow(average, model):
    for slow, fast in zip(average.parameters(), model.parameters()):
        slow.lerp_(fast.detach(), 0.01)


def main():
    parser = argparse.ArgumentParser()
    for flag, default in (("inputs", 512), ("dim", 4096), ("depth", 24), ("samples", 65536), ("epochs", 4)):
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(5)
    model = Regressor(args.inputs, args.dim, args.depth, 1)
    spread_weights(model, frozen={"head.bias"})
    average = copy.deepcopy(model).requires_grad_(False)
    shard(model, mesh)
    shard(average, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    trainer = Trainer(model, optimizer, max_norm=1.0)
    statistics = first_statistics(args.inputs, "cuda")
    spread_statistics(statistics)

    loader, sampler = make_loader(args)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            inputs = (inputs.to("cuda") - statistics["mean"]) / statistics["scale"]
            try:
                loss, norm = trainer.step(inputs, targets.to("cuda"))
            except torch.OutOfMemoryError:
                print(torch.cuda.memory_summary(), file=sys.stderr)
                raise
            follow(average, model)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f} norm {norm.item():.3f}")
    trained, whole = counted(model)
    low, high = extremes(model)
    if dist.get_rank() == 0:
        print(f"{trained} of {whole} values trained, from {low:.3f} to {high:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
