import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F

from model import Tagger
from scaling import ScaledOptimizer, make_scaler
from sharding import batches, shard_tagger, start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--symbols", type=int, default=50_000)
    parser.add_argument("--tags", type=int, default=64)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=5000)
    args = parser.parse_args()

    mesh = start()
    model = Tagger(args.symbols, args.dim, args.depth, args.tags)
    shard_tagger(model, mesh, torch.float16)
    scaled = ScaledOptimizer(torch.optim.AdamW(model.parameters(), lr=2e-4), make_scaler(wrapped=False), max_norm=1.0)
    for step, (symbols, tags) in enumerate(batches(args)):
        loss = F.cross_entropy(model(symbols).float().flatten(0, 1), tags.flatten())
        scaled.backward(loss)
        scaled.step(model.parameters())
        if dist.get_rank() == 0 and step % 100 == 0:
            print(step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
