import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh

from engine import Engine
from model import Mixer
from sharding import set_prefetch, shard_mixer


def batch(args, width, generator):
    x = torch.randn(args.micro_batch, args.tokens, args.inputs, device="cuda", generator=generator)
    return x, torch.randn(args.micro_batch, *width, device="cuda", generator=generator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=768)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--embedding", type=int, default=1024)
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--accumulation", type=int, default=8)
    parser.add_argument("--prefetch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--eval-every", type=int, default=200)
    parser.add_argument("--output", default="mixer_checkpoint")
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(8)

    model = Mixer(args.inputs, args.dim, args.tokens, args.depth, args.embedding)
    shard_mixer(model, mesh)
    if args.prefetch > 0:
        set_prefetch(model.layers, args.prefetch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    engine = Engine(model, optimizer, args.accumulation, max_norm=1.0)

    generator = torch.Generator(device="cuda").manual_seed(50 + dist.get_rank())
    for step in range(1, args.steps + 1):
        micro_batches = [batch(args, (args.embedding,), generator) for _ in range(args.accumulation)]
        loss = engine.train_step(micro_batches)
        if dist.get_rank() == 0 and step % 20 == 0:
            print(f"step {step}: {loss.item():.5f}")
        if step % args.eval_every == 0:
            similarity = engine.evaluate([batch(args, (args.tokens, args.inputs), generator) for _ in range(4)])
            if dist.get_rank() == 0:
                print(f"step {step}: similarity {similarity.item():.4f}")

    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=args.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
