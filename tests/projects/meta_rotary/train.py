import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

import weights
from setup import create_model


def batches(args, device):
    generator = torch.Generator(device=device).manual_seed(args.seed + dist.get_rank())
    for _ in range(args.steps):
        yield torch.randint(args.vocab, (args.batch_size, args.length + 1), device=device, generator=generator)


def fit(model, args, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step, tokens in enumerate(batches(args, device)):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0 and step % 50 == 0:
            print(step, loss.item())


def main(args):
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    torch.manual_seed(args.seed)
    model = create_model(args, mesh, device)
    fit(model, args, device)
    weights.save(model, args.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in {"vocab": 32_000, "dim": 2048, "heads": 16, "depth": 24, "steps": 10_000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pretrained")
    parser.add_argument("--output", default="decoder")
    main(parser.parse_args())
