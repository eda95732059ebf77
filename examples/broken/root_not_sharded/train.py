"""parallelize.py shards the blocks, and nobody shards the model itself.

The embedding and the head stay plain parameters: their gradients are not averaged. Nothing is
raised, the loss falls, and every rank trains an embedding and a head of its own. Watch the
sums drift apart.
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import AdamW

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
        head = model.head.weight.detach().sum().item()
        print(f"step {step}, rank {dist.get_rank()}, head {head:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
