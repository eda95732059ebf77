"""The sharded state dict is given to checkpoint.py, which writes it with torch.save.

Each tensor in it is a DTensor, and torch.save writes the part that rank 0 holds. Nothing is
raised, not even when the file is loaded again by as many ranks: each of them then takes the
shards of rank 0 for its own. The rest of the weights is lost.
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import AdamW

from checkpoint import save_checkpoint
from data import make_batch
from model import Net
from parallelize import parallelize


def init_distributed() -> torch.device:
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="checkpoint.pt")
    args = parser.parse_args()

    device = init_distributed()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    parallelize(model, mesh)
    optimizer = AdamW(model.parameters(), lr=1e-2)

    for step in range(1, 21):
        tokens, targets = make_batch(step, device)
        loss = F.cross_entropy(model(tokens), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)

    save_checkpoint({"model": model.state_dict(), "step": 20}, args.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
