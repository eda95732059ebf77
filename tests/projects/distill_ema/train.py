import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from meta_arch import SelfDistillation, export_teacher


def views(args, generator):
    clean = torch.randn(args.batch, args.tokens, args.patch, device="cuda", generator=generator)
    noise = torch.randn(2, *clean.shape, device="cuda", generator=generator)
    return clean + 0.1 * noise[0], clean + 0.1 * noise[1]


def optimizer_for(student, args):
    regular = [p for p in student.parameters() if p.ndim >= 2]
    vectors = [p for p in student.parameters() if p.ndim < 2]
    return torch.optim.AdamW(
        [{"params": regular, "weight_decay": args.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=args.lr,
    )


def do_train(args):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend="nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(args.seed)

    arch = SelfDistillation(args)
    arch.prepare(mesh, device="cuda")
    optimizer = optimizer_for(arch.student, args)

    generator = torch.Generator(device="cuda").manual_seed(args.seed + dist.get_rank())
    for step in range(args.steps):
        view_a, view_b = views(args, generator)
        loss = arch(view_a, view_b)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(arch.student.parameters(), 3.0)
        optimizer.step()
        optimizer.zero_grad()
        arch.update_teacher(args.momentum)
        if dist.get_rank() == 0 and step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")

    export_teacher(arch, args.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--patch", type=int, default=588)
    parser.add_argument("--dim", type=int, default=1536)
    parser.add_argument("--depth", type=int, default=40)
    parser.add_argument("--out", type=int, default=65536)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--weight-decay", type=float, default=0.04)
    parser.add_argument("--momentum", type=float, default=0.994)
    parser.add_argument("--temperature", type=float, default=0.04)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--output", default="teacher.pt")
    do_train(parser.parse_args())
