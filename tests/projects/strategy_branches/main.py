import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from net import SeriesModel
from strategies import accumulate, clip, full_state, wrap_model


def micro_batches(args, generator):
    for _ in range(args.accumulate):
        yield torch.randn(args.batch_size, args.length, args.channels, generator=generator).to("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strategy", choices=["ddp", "fsdp", "fsdp2"], default="fsdp2")
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--width", type=int, default=6144)
    parser.add_argument("--depth", type=int, default=36)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--save", default="series.pt")
    args = parser.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    rank = dist.get_rank()
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))

    torch.manual_seed(3)
    model = SeriesModel(args.channels, args.width, args.depth)
    model = wrap_model(model, args.strategy, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    generator = torch.Generator().manual_seed(100 + rank)
    for step in range(args.steps):
        for index, series in enumerate(micro_batches(args, generator)):
            with accumulate(model, args.strategy, last=index == args.accumulate - 1):
                prediction = model(series[:, :-1])
                loss = (prediction.float() - series[:, 1:]).abs().mean() / args.accumulate
                loss.backward()
        clip(model, args.strategy, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 100 == 0:
            print(step, loss.item() * args.accumulate)

    state = full_state(model, args.strategy)
    if rank == 0:
        torch.save(state, args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
