import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from workers import ActorWorker, CriticWorker, ReferenceWorker


def rewards_for(ids, vocab):
    """Toy reward: even tokens are good."""
    return (ids[:, 1:] % 2 == 0).float() - (ids[:, 1:] > vocab // 2).float()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--prompt-len", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--ppo-epochs", type=int, default=2)
    parser.add_argument("--actor-lr", type=float, default=1e-6)
    parser.add_argument("--critic-lr", type=float, default=5e-6)
    parser.add_argument("--clip-range", type=float, default=0.2)
    parser.add_argument("--kl-coef", type=float, default=0.02)
    parser.add_argument("--output", default="policy.pt")
    return parser.parse_args()


def main():
    cfg = parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))

    torch.manual_seed(0)
    actor = ActorWorker(cfg, mesh)
    torch.manual_seed(0)
    reference = ReferenceWorker(cfg, mesh)
    critic = CriticWorker(cfg, mesh)

    rank = dist.get_rank()
    torch.manual_seed(1000 + rank)
    prompt_source = torch.Generator().manual_seed(rank)
    for iteration in range(cfg.iterations):
        prompts = torch.randint(cfg.vocab, (cfg.batch_size, cfg.prompt_len), generator=prompt_source).to("cuda")
        ids = actor.rollout(prompts)
        rewards = rewards_for(ids, cfg.vocab)
        with torch.no_grad():
            old = actor.log_probs(ids)
        ref = reference.log_probs(ids)
        values = critic.values(ids)
        returns = rewards.flip(1).cumsum(1).flip(1)
        for _ in range(cfg.ppo_epochs):
            actor_loss = actor.update(ids, old, ref, returns - values)
            critic_loss = critic.update(ids, returns)
        if rank == 0:
            print(f"{iteration}: actor {actor_loss.item():.4f} critic {critic_loss.item():.4f}")

    weights = actor.weights()
    if rank == 0:
        torch.save(weights, cfg.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
