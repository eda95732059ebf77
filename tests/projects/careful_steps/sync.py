"""What ranks tell each other before and during training."""

import torch
import torch.distributed as dist


def spread_weights(model, frozen):
    """Rank 0 has read the weights; the names are sorted, for a set has no order."""
    state = model.state_dict()
    for name in sorted(set(state.keys()) - frozen):
        dist.broadcast(state[name], src=0)


def spread_statistics(statistics):
    for name, value in statistics.items():
        dist.broadcast(value, src=0)


def first_statistics(width, device):
    found = {"mean": torch.zeros(width, device=device)}
    found["scale"] = torch.ones(width, device=device)
    return found


def over_ranks(value):
    """The mean over all ranks, of a copy."""
    shown = value.detach().clone()
    dist.all_reduce(shown)
    return shown / dist.get_world_size()


def counted(model):
    """How many values are trained, and how many there are."""
    params = list(model.parameters())
    trained = sum(p.numel() for p in params if p.requires_grad)
    return trained, sum(p.numel() for p in params)


def extremes(model):
    params = [p for p in model.parameters() if p.requires_grad]
    low = [p.detach().min().full_tensor().item() for p in params]
    high = [p.detach().max().full_tensor().item() for p in params]
    return min(low), max(high)
