import torch
from torch.utils.data import Dataset


class Curve(Dataset):
    """Points on a parabola, the same for the same index."""

    def __init__(self, size, inputs):
        self.size, self.inputs = size, inputs

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        point = torch.linspace(-1, 1, self.inputs) * (index / self.size)
        return point, point.pow(2).sum(dim=0, keepdim=True)
