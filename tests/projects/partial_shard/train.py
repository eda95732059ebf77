import argparse
import os
from functools import partial

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from apply import wrap_model
from model import StateSpaceLM


def make_wrapper(mesh, bf16):
    dtype = torch.bfloat16 if bf16 else torch.float32
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    return partial(fully_shard, mesh=mesh, mp_policy=policy)


def train_epoch(model, optimizer, loader):
    for (tokens,) in loader:
        tokens = tokens.to("cuda", non_blocking=True)
        logits = model(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return loss.detach(), norm.full_tensor() if isinstance(norm, DTensor) else norm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=50280)
    parser.add_argument("--dim", type=int, default=2560)
    parser.add_argument("--depth", type=int, default=64)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--no-bf16", dest="bf16", action="store_false")
    parser.add_argument("--save", default="ssm.pt")
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(31)

    model = StateSpaceLM(args.vocab, args.dim, args.depth)
    wrap = make_wrapper(mesh, args.bf16)
    model = wrap_model(model, wrap)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    tokens = torch.randint(args.vocab, (args.samples, args.length + 1))
    data = TensorDataset(tokens)
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True, pin_memory=True)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss, norm = train_epoch(model, optimizer, loader)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} norm {norm.item():.3f}")

    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(state, args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
