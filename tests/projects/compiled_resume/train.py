import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

from checkpoints import Exporter, load_pretrained, resume, save
from network import Network
from sharding import maybe_compiled, shard


def loss_of(network, args, generator):
    tokens = torch.randint(args.vocab, (args.batch_size, args.length + 1), generator=generator).to("cuda")
    logits = network(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())


def find_batch_size(network, optimizer, args, generator):
    """Try a step of the full size, and leave nothing behind."""
    loss_of(network, args, generator).backward()
    optimizer.zero_grad()


def main(args):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(args.seed)
    network = Network(args.vocab, args.dim, args.depth)
    shard(network, mesh)
    if args.pretrained:
        load_pretrained(network, args.pretrained)
    runner = maybe_compiled(network, args.compile)
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(args.seed + dist.get_rank())
    find_batch_size(runner, optimizer, args, generator)
    if args.resume:
        resume(args.resume, runner, optimizer)
    exporter = Exporter(args.folder)
    for step in range(1, args.steps + 1):
        loss_of(runner, args, generator).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % args.save_every == 0:
            save(f"{args.folder}/{step}", runner, optimizer)
            exporter.start(runner, step)
    exporter.finish(runner)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in {"vocab": 50304, "dim": 4096, "depth": 32, "length": 2048, "batch-size": 2, "steps": 10_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--save-every", type=int, default=500)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--pretrained")
    parser.add_argument("--resume")
    parser.add_argument("--folder", default="run")
    main(parser.parse_args())
