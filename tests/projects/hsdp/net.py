import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, features, width, depth, classes):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.layers = nn.Sequential(*[Layer(width) for _ in range(depth)])
        self.classify = nn.Linear(width, classes)

    def forward(self, x):
        return self.classify(self.layers(self.stem(x)))

    def init_weights(self):
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.LayerNorm)):
                module.reset_parameters()
