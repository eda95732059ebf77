import argparse
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from checkpoint import AppState, Checkpointer
from model import ConvLM


@contextmanager
def distributed():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()


def build_model(args):
    with torch.device("meta"):
        model = ConvLM(args.vocab, args.dim, args.depth)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device="cuda")
    model.reset_parameters()
    return model


def tokens_of(step, rank, args):
    generator = torch.Generator().manual_seed(step * 100_003 + rank)
    return torch.randint(args.vocab, (args.batch_size, args.length + 1), generator=generator)


def train(args):
    with distributed() as (rank, world_size):
        torch.manual_seed(args.seed)
        model = build_model(args)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
        app_state = AppState(model, optimizer)
        checkpointer = Checkpointer(args.folder, args.save_every)
        resumed = checkpointer.restore(app_state)
        if rank == 0:
            print("resumed at" if resumed else "starting at", app_state.step, "on", world_size, "ranks")

        while app_state.step < args.steps:
            batch = tokens_of(app_state.step, rank, args).to("cuda")
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            app_state.step += 1
            checkpointer.save(app_state)
            if rank == 0 and app_state.step % 100 == 0:
                print(app_state.step, round(loss.item(), 4))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--dim", type=int, default=2560)
    parser.add_argument("--depth", type=int, default=48)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--save-every", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--folder", default="conv_lm")
    train(parser.parse_args())
