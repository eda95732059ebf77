"""The optimizer, built in optim.py, is older than the shards made in parallelize.py.

fully_shard replaces the parameters of the model; the optimizer holds the old ones. Nothing is
raised and nothing is trained: after any number of steps every weight is what it was before.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

from data import make_batch
from model import Net
from optim import build_optimizer
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
    device = init_distributed()
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]
    parallelize(model, mesh)

    for step in range(1, 21):
        tokens, targets = make_batch(step, device)
        loss = F.cross_entropy(model(tokens), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
