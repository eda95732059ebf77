import argparse

import torch
import torch.distributed as dist

from checkpoint import Checkpoints
from model import CharModel, loss_of
from parallel import parallelize, start


class Loop:
    def __init__(self, model, optimizer, checkpoints):
        self.model = model
        self.optimizer = optimizer
        self.checkpoints = checkpoints

    def step(self, number, symbols):
        loss = loss_of(self.model, symbols)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.checkpoints.save(self.model, number)
        return loss.detach()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--symbols", type=int, default=256)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--folder", default="chars")
    args = parser.parse_args()

    mesh = start()
    torch.manual_seed(3)
    model = parallelize(CharModel(args.symbols, args.dim, args.depth), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    loop = Loop(model, optimizer, Checkpoints(args.folder, every=1000))
    generator = torch.Generator().manual_seed(dist.get_rank())
    for number in range(1, args.steps + 1):
        symbols = torch.randint(args.symbols, (args.batch, args.length + 1), generator=generator).to("cuda")
        loss = loop.step(number, symbols)
        if dist.get_rank() == 0 and number % 100 == 0:
            print(number, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
