"""Rank 0 alone calls the helper that gathers the weights, in checkpoint.py.

full_tensor() is a collective: rank 0 waits for the others, which wait for rank 0 at the
barrier. The job hangs until the process group gives up (here after 30 seconds, by default
after 10 minutes with NCCL and 30 minutes with gloo).
"""

import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import AdamW

from checkpoint import save_full_weights
from data import make_batch
from model import Net
from parallelize import parallelize


def init_distributed() -> torch.device:
    timeout = timedelta(seconds=30)
    if not torch.cuda.is_available():
        dist.init_process_group("gloo", timeout=timeout)
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=timeout, device_id=device)
    return device


def is_main_process() -> bool:
    return dist.get_rank() == 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="weights.pt")
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

    if is_main_process():
        save_full_weights(model, args.output)  # error: [FSDP801]
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
