import argparse

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

from dist_setup import setup, shard_gpt
from model import ModdedGPT
from optimizers import build_optimizers, build_schedulers, finetune_optimizer


def draw(args, generator):
    tokens = torch.randint(args.vocab, (args.batch_size, args.seq_len + 1), generator=generator).to("cuda")
    return tokens[:, :-1], tokens[:, 1:]


def run_phase(model, optimizers, schedulers, args, steps, generator):
    for step in range(steps):
        inputs, targets = draw(args, generator)
        loss = model(inputs, targets)
        loss.backward()
        for optimizer in optimizers.values():
            optimizer.step()
        for scheduler in schedulers.values():
            scheduler.step()
        for optimizer in optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        if dist.get_rank() == 0 and step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=50304)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--seq-len", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--cooldown", type=int, default=1800)
    parser.add_argument("--finetune-steps", type=int, default=0)
    parser.add_argument("--optimizer", choices=["muon", "adamw"], default="muon")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=3e-3)
    parser.add_argument("--out", default="modded.pt")
    args = parser.parse_args()

    mesh = setup()
    torch.manual_seed(17)
    model = ModdedGPT(args.vocab, args.dim, args.heads, args.depth)
    model = shard_gpt(model, mesh)
    optimizers = build_optimizers(model, args)
    schedulers = build_schedulers(optimizers, args)

    generator = torch.Generator().manual_seed(dist.get_rank())
    run_phase(model, optimizers, schedulers, args, args.steps, generator)
    if args.finetune_steps > 0:
        optimizers = finetune_optimizer(model, args.adam_lr)
        run_phase(model, optimizers, {}, args, args.finetune_steps, generator)

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(weights, args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
