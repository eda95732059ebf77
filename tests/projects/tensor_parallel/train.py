import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh

from model import Transformer
from plan import parallelize


def batches(mesh, vocab, batch, length):
    """Ranks of one tensor-parallel group work on the same tokens: only the data coordinate is in the seed."""
    generator = torch.Generator().manual_seed(1000 + mesh["dp"].get_local_rank())
    while True:
        yield torch.randint(vocab, (batch, length + 1), generator=generator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--folder", default="checkpoints")
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size() // args.tp, args.tp), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = Transformer(args.vocab, args.dim, args.head_dim, args.depth)
    model = parallelize(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=False)

    data = batches(mesh, args.vocab, 2, args.length)
    for step in range(args.steps):
        tokens = next(data).to("cuda")
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 500 == 499:
            model_state, optimizer_state = get_state_dict(model, optimizer)
            dcp.save({"model": model_state, "optim": optimizer_state}, checkpoint_id=f"{args.folder}/{step}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
