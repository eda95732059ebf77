"""No process selects its GPU: the helper that does so, in launch.py, is never called.

"cuda" then means GPU 0 in every process. The first tensor goes there, and with it the whole
training of all ranks: out of memory, "Duplicate GPU detected", or a deadlock. Needs GPUs to
run.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import AdamW

from data import load_tokens
from launch import start_job
from model import Net
from parallelize import parallelize


def main() -> None:
    start_job()
    data = load_tokens(dist.get_rank()).to("cuda")  # error: [FSDP101]

    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Net()
    parallelize(model, mesh)
    optimizer = AdamW(model.parameters(), lr=1e-2)

    for step, tokens in enumerate(data, start=1):
        loss = F.cross_entropy(model(tokens), (7 * tokens + 3) % 64)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step}, loss {loss.item():.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
