import argparse

import torch
from torch import nn

from kit.env import join, local_device
from kit.gather import gather_to_cpu
from kit.sharding import shard_graph_net


class GraphConv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.own = nn.Linear(dim, dim)
        self.neighbour = nn.Linear(dim, dim, bias=False)

    def forward(self, x, adjacency):
        h = self.norm(x)
        return x + torch.relu(self.own(h) + adjacency @ self.neighbour(h))


class GraphNet(nn.Module):
    def __init__(self, features, dim, depth, classes):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.convs = nn.ModuleDict({f"conv{i}": GraphConv(dim) for i in range(depth)})
        self.readout = nn.Linear(dim, classes)

    def forward(self, x, adjacency):
        x = self.embed(x)
        for conv in self.convs.values():
            x = conv(x, adjacency)
        return self.readout(x.mean(dim=1))


def random_graphs(args, device, generator):
    x = torch.randn(args.batch_size, args.nodes, args.features, generator=generator)
    adjacency = (torch.rand(args.batch_size, args.nodes, args.nodes, generator=generator) < 0.1).float()
    adjacency = adjacency / adjacency.sum(-1, keepdim=True).clamp(min=1)
    labels = torch.randint(args.classes, (args.batch_size,), generator=generator)
    return x.to(device), adjacency.to(device), labels.to(device)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--classes", type=int, default=47)
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--save", default="graph.pt")
    args = parser.parse_args()

    device = local_device()
    mesh = join()

    import torch.distributed as dist

    rank = dist.get_rank()
    torch.manual_seed(21)
    net = GraphNet(args.features, args.dim, args.depth, args.classes)
    shard_graph_net(net, mesh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    generator = torch.Generator().manual_seed(rank)
    for step in range(args.steps):
        x, adjacency, labels = random_graphs(args, device, generator)
        loss = nn.functional.cross_entropy(net(x, adjacency).float(), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 100 == 0:
            print(f"{step}: {loss.item():.4f}")

    state = gather_to_cpu(net, keep=rank == 0)
    if rank == 0:
        torch.save(state, args.save)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
