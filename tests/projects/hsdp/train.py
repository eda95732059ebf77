import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from hybrid import accumulate, build, hybrid_mesh

EPOCHS, MICRO = 10, 4


def loaders(path):
    images, labels = torch.load(path, mmap=True)
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data, shuffle=True)
    return sampler, DataLoader(data, batch_size=32, sampler=sampler, drop_last=True)


def export(model, path):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        torch.save(state, path)


def main():
    mesh = hybrid_mesh()
    model = build(mesh, features=1024, width=8192, depth=24, classes=1000)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    sampler, loader = loaders(os.environ["DATA"])
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for index, (images, labels) in enumerate(loader):
            last = index % MICRO == MICRO - 1
            accumulate(model, last)
            loss = F.cross_entropy(model(images.to("cuda")), labels.to("cuda")) / MICRO
            loss.backward()
            if last:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        export(model, f"epoch-{epoch}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
