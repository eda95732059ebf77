"""A small model on every rank, to compare with."""

import torch
import torch.distributed as dist

from model import CharModel, loss_of
from replicate import replicate, start


class Baseline:
    def __init__(self, model):
        self.model = replicate(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-4)

    def step(self, symbols):
        loss = loss_of(self.model, symbols)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()


def main(steps=1000):
    start()
    torch.manual_seed(3)
    baseline = Baseline(CharModel(256, 512, 4))
    generator = torch.Generator().manual_seed(dist.get_rank())
    for number in range(steps):
        loss = baseline.step(torch.randint(256, (16, 257), generator=generator).to("cuda"))
        if dist.get_rank() == 0 and number % 100 == 0:
            print(number, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
