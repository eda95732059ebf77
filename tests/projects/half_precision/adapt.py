"""A short run on new tags: float32 groups, and autocast around the forward."""

import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F

from model import Tagger
from sharding import batches, shard_tagger, start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--symbols", type=int, default=50_000)
    parser.add_argument("--tags", type=int, default=12)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()

    mesh = start()
    model = shard_tagger(Tagger(args.symbols, args.dim, args.depth, args.tags), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    scaler = torch.amp.GradScaler("cuda")
    for symbols, tags in batches(args):
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(symbols)
        loss = F.cross_entropy(logits.float().flatten(0, 1), tags.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
