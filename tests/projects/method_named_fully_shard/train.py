import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from async_checkpoint import AsyncCheckpointer
from launch import Launch
from network import LatentDiT


def build_net(args, mesh):
    with torch.device("meta"):
        net = LatentDiT(args.channels, args.dim, args.heads, args.depth)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    net.fully_shard(mesh, mp_policy=policy)
    net = fully_shard(net, mesh=mesh, mp_policy=policy)
    net.to_empty(device="cuda")
    with torch.no_grad():
        net.init_weights()
    return net


def latent_batches(args, rank):
    generator = torch.Generator(device="cuda").manual_seed(args.seed + rank)
    shape = (args.batch_size, args.tokens, args.channels)
    for _ in range(args.iterations):
        yield torch.randn(shape, device="cuda", generator=generator)


def flow_loss(net, latents):
    t = torch.rand(latents.shape[0], device=latents.device)
    noise = torch.randn_like(latents)
    mixed = (1 - t[:, None, None]) * latents + t[:, None, None] * noise
    velocity = net(mixed, t)
    return (velocity.float() - (noise - latents)).pow(2).mean()


def main(args):
    launch = Launch()
    mesh = init_device_mesh("cuda", (launch.world_size,), mesh_dim_names=("shard",))
    torch.manual_seed(args.seed)
    net = build_net(args, mesh)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.0)
    checkpointer = AsyncCheckpointer(args.output)

    torch.manual_seed(args.seed + 1 + launch.rank)
    for iteration, latents in enumerate(latent_batches(args, launch.rank), start=1):
        loss = flow_loss(net, latents)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if iteration % args.log_every == 0:
            launch.log(f"iter {iteration} loss {loss.item():.5f}")
        if iteration % args.save_every == 0:
            checkpointer.save(net, optimizer, iteration)
    checkpointer.wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--dim", type=int, default=3072)
    parser.add_argument("--heads", type=int, default=24)
    parser.add_argument("--depth", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--save-every", type=int, default=5000)
    parser.add_argument("--output", default="checkpoints")
    main(parser.parse_args())
