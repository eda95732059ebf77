from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class EncoderBlock(nn.Module, ABC):
    """A block knows how to shard itself; subclasses may split themselves further."""

    @abstractmethod
    def mix(self, x): ...

    def apply_fsdp(self, **fsdp_config) -> None:
        fully_shard(self, **fsdp_config)

    def forward(self, x):
        return x + self.mix(x)


class AttentionBlock(EncoderBlock):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def mix(self, x):
        h = self.norm(x)
        return self.attention(h, h, h, need_weights=False)[0]


class MLPBlock(EncoderBlock):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def apply_fsdp(self, **fsdp_config) -> None:
        fully_shard(self.wide, **fsdp_config)
        super().apply_fsdp(**fsdp_config)

    def mix(self, x):
        return self.narrow(nn.functional.gelu(self.wide(self.norm(x))))


class VisionEncoder(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, patch: int, image: int, classes: int):
        super().__init__()
        self.patchify = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.position = nn.Parameter(torch.zeros(1, (image // patch) ** 2, width))
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(AttentionBlock(width, heads))
            self.blocks.append(MLPBlock(width))
        self.head = nn.Linear(width, classes)

    def apply_fsdp(self, mesh: DeviceMesh, param_dtype: torch.dtype) -> None:
        config = dict(
            mesh=mesh,
            mp_policy=MixedPrecisionPolicy(param_dtype=param_dtype, reduce_dtype=torch.float32),
        )
        for block in self.blocks:
            block.apply_fsdp(**config)
        fully_shard(self, **config)

    def num_params(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def forward(self, images):
        x = self.patchify(images).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))

    def features(self, images):
        x = self.patchify(images).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return x.mean(dim=1)
