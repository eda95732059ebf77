import torch
from torch import nn


class UBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.GroupNorm(8, width),
            nn.SiLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(8, width),
            nn.SiLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, x):
        return x + self.body(x)


class Denoiser(nn.Module):
    def __init__(self, channels, width, depth):
        super().__init__()
        self.encode = nn.Conv2d(channels, width, 3, padding=1)
        self.down = nn.ModuleList([UBlock(width) for _ in range(depth)])
        self.up = nn.ModuleList([UBlock(width) for _ in range(depth)])
        self.decode = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x):
        x = self.encode(x)
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
        for block in self.up:
            x = block(x + skips.pop())
        return self.decode(x)

    def init_weights(self):
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.GroupNorm)):
                module.reset_parameters()
        torch.nn.init.zeros_(self.decode.weight)

    def bottleneck(self, x):
        """What the decoder starts from."""
        x = self.encode(x)
        for block in self.down:
            x = block(x)
        return x
